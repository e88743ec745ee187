// Finds where two cells diverge: the first operation that differs, and what each cell did.
//
//   diff-ignores-times-and-ids. Also the run's name, the ids that a provider gives to calls, and the order in which several
//       children answer.
//   diff-sides-differ-in-text. The descriptions of the two sides are never the same text.
import { canonicalJson, isObject, isSameJson, unknownKind } from '#base';
import type { CellId, Hash, Json, JsonObject } from '#base';
import type { CellDiff, Outcome } from '#contracts';
import type { CellRecords, OperationRecord, SettleFrameRecord } from './records.ts';

type Side = (OperationRecord & { readonly goal: string | undefined }) | undefined;

export const compareCells = (one: CellRecords, other: CellRecords): CellDiff['parts'] => {
  const numbers = new Set([...one.operations.keys(), ...other.operations.keys()]);
  const [oneGoals, otherGoals] = [childGoals(one), childGoals(other)];
  let hashesComparable = true;
  for (const op of [...numbers].sort((left, right) => left - right)) {
    const [left, right] = [operationSide(one, op, oneGoals), operationSide(other, op, otherGoals)];
    const [leftFingerprint, rightFingerprint] = [
      operationFingerprint(left, hashesComparable),
      operationFingerprint(right, hashesComparable),
    ];
    if (!isSameJson(leftFingerprint, rightFingerprint))
      return {
        op,
        ...describeDifference([left, right], [fingerprintText(leftFingerprint), fingerprintText(rightFingerprint)]),
      };
    hashesComparable &&= isSameJson(left?.settle?.value ?? null, right?.settle?.value ?? null);
  }
  return null;
};

/** The goal that each child received, which may differ from what its caller's model wrote. */
const childGoals = ({ children }: CellRecords): ReadonlyMap<CellId, string | undefined> =>
  new Map(children.map(({ birth, received }) => [birth.cell, received.get(0)?.content]));

const operationSide = ({ operations }: CellRecords, op: number, goals: ReturnType<typeof childGoals>): Side => {
  const operation = operations.get(op);
  const child = operation?.begin.birth?.cell;
  return operation && { ...operation, goal: child === undefined ? undefined : goals.get(child) };
};

/** Everything about an outcome except its time and cost. */
export const outcomeFingerprint = (outcome: Outcome | undefined): Json => {
  if (outcome === undefined) return null;
  const { status, output, data, failure, missing } = outcome;
  return { status, output, data, failure, missing };
};

/**
 * The hash of a prompt covers call ids and crossing numbers. If those differed earlier, the hashes cannot be compared, so the
 * view changes are compared instead. The content they are made from has been compared already.
 */
const operationFingerprint = (operation: Side, hashesComparable: boolean): Json | undefined => {
  if (operation === undefined) return undefined;
  const { begin, attempt, settle, goal } = operation;
  return {
    goal,
    do: begin.do,
    name: begin.name,
    about: begin.about,
    agent: begin.birth?.agent,
    definition: begin.birth?.digest,
    settings: attempt?.settings,
    prompt: hashesComparable ? attempt?.prompt : withoutNumbers(attempt?.changes ?? null),
    settled: settle && {
      ok: settle.ok,
      halted: settle.halted,
      value: comparableValue(operation),
      failure: settle.failure,
      ended: outcomeFingerprint(settle.ended?.outcome),
    },
  };
};

const fingerprintText = (fingerprint: Json | undefined): string =>
  fingerprint === undefined ? '' : canonicalJson(fingerprint);

/** A reply without the provider's ids. Null for a child, whose value is only the number of a crossing. */
const comparableValue = ({ begin, attempt, settle }: OperationRecord): Json => {
  const value = settle?.value ?? null;
  if (begin.birth !== undefined) return null;
  const parts = isObject(value) ? value['parts'] : undefined;
  if (attempt === undefined || !isObject(value) || !Array.isArray(parts)) return value;
  return {
    ...value,
    parts: parts.map((part: Json) => (isObject(part) ? { ...part, id: undefined, meta: undefined } : part)),
  };
};

/** View changes without the numbers of the crossings they refer to. */
const withoutNumbers = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutNumbers);
  if (!isObject(value)) return value;
  if (value['from'] === 'crossing') return { from: 'crossing' };
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutNumbers(part ?? null)]));
};

const describeDifference = (
  [one, other]: readonly [Side, Side],
  [onePrint, otherPrint]: readonly [string, string],
): { readonly one: string; readonly other: string } => {
  const [left, right] = [describeOperation(one, one?.goal), describeOperation(other, other?.goal)];
  if (left !== right) return truncateAroundDifference(left, right);
  for (const [what, hashOf] of hashes) {
    const [leftHash, rightHash] = [hashOf(one), hashOf(other)];
    if (leftHash !== rightHash) return { one: withHash(left, what, leftHash), other: withHash(right, what, rightHash) };
  }
  return truncateAroundDifference(`${left} ${onePrint}`, `${right} ${otherPrint}`);
};

/** Parts that can only be compared by hash. */
const hashes: readonly (readonly [what: string, hashOf: (operation: Side) => Hash | undefined])[] = [
  ['prompt', (operation) => operation?.attempt?.prompt],
  ['definition', (operation) => operation?.begin.birth?.digest],
];

const withHash = (description: string, what: string, hash: Hash | undefined): string =>
  truncateAroundDifference(
    `${what} ${hash === undefined ? 'missing' : `sha256 ${hash.slice(0, 12)}…`}: ${description}`,
    '',
  ).one;

// Shortens two long texts so that the point where they differ stays visible.

const charsMax = 300;
const headChars = 60;
const beforeChars = 40;

/** Shows both texts from the start if that includes the difference; otherwise a short beginning and the text around the difference. */
const truncateAroundDifference = (one: string, other: string): { readonly one: string; readonly other: string } => {
  const at = firstDifference(one, other);
  return { one: shorten(one, at), other: shorten(other, at) };
};

const firstDifference = (one: string, other: string): number => {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
};

const shorten = (text: string, at: number): string => {
  if (text.length <= charsMax) return text;
  if (at < charsMax - beforeChars) return `${text.slice(0, charsMax)}…`.toWellFormed();
  const from = at - beforeChars;
  const to = from + charsMax - headChars;
  return `${text.slice(0, headChars)} … ${text.slice(from, to)}${to < text.length ? '…' : ''}`.toWellFormed();
};

// Describes an operation and its result as text.

/** `operation` is undefined if the cell did not get that far. `goal`: the goal a child received. The text is not shortened. */
const describeOperation = (operation: OperationRecord | undefined, goal?: string): string => {
  if (operation === undefined) return 'nothing: it did not get that far';
  const { begin, attempt, settle, beganAt } = operation;
  const called = begin.name.slice(begin.name.indexOf(':') + 1);
  if (attempt !== undefined) return `model ${attempt.model}${settlementText(settle, replyText)}`;
  switch (begin.do) {
    case 'sleep':
      return `waits ${Math.max(0, (begin.until ?? beganAt) - beganAt)} ms`;
    case 'child':
      return `agent ${begin.birth?.agent ?? called}${argumentsText(goal === undefined ? begin.about?.['args'] : `"${goal}"`)}${settlementText(settle, (_value, settled) => childText(settled))}`;
    case 'ask':
      return `${begin.name}${argumentsText(JSON.stringify(begin.question?.args))}${settlementText(settle, valueText)}`;
    case 'step':
    case 'receive':
      return begin.name.startsWith('tool:')
        ? `tool ${called}${argumentsText(begin.about?.['args'])}${settlementText(settle, valueText)}`
        : `${begin.name}${settlementText(settle, valueText)}`;
    default:
      return unknownKind(begin.do, begin.name);
  }
};

const settlementText = (
  settle: SettleFrameRecord | undefined,
  describe: (value: Json, settle: SettleFrameRecord) => string,
): string => {
  if (settle === undefined) return ', not settled';
  if (settle.ok) return `: ${describe(settle.value ?? null, settle)}`;
  const { code = 'defect', detail } = settle.failure ?? {};
  return `, failed: ${code}${detail === undefined ? '' : ` (${detail})`}`;
};

const argumentsText = (args: Json | undefined): string => {
  if (args === undefined) return '';
  return ` ${typeof args === 'string' ? args : JSON.stringify(args)}`;
};

/** A reply's text and calls. A value that is not a reply is shown as it is. */
const replyText = (value: Json): string => {
  const parts = getField(value, 'parts');
  if (!Array.isArray(parts)) return valueText(value);
  const texts = parts.flatMap((part: Json) => {
    const type = getField(part, 'type');
    if (type === 'call') return [`calls ${fieldText(part, 'name')} ${fieldText(part, 'input')}`];
    return type === 'text' ? [fieldText(part, 'text')] : [];
  });
  return texts.join(' · ');
};

const childText = ({ ended }: SettleFrameRecord): string =>
  ended === undefined ? 'ended' : `${ended.outcome.status} ${ended.outcome.output}`.trimEnd();

const valueText = (value: Json): string =>
  typeof getField(value, 'text') === 'string' ? fieldText(value, 'text') : JSON.stringify(value);

const fieldText = (value: Json, key: string): string => {
  const field = getField(value, key);
  return typeof field === 'string' ? field : JSON.stringify(field);
};

const getField = (value: Json, key: string): Json =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? ((value as JsonObject)[key] ?? null) : null;
