// Where two cells part: the first operation that is not the same, and what each did.
//
//   D1. Times, ids and the name of the run make no difference. Neither do the ids that a provider gives to calls, nor
//       which of several children answered first.
//   D2. What is said of the two sides is never the same text.
import { canonicalJson, isObject } from '#base';
import type { CellId, Hash, Json } from '#base';
import type { CellDiff, Outcome } from '#contracts';
import type { CellRecords, OperationRecord } from './records.ts';
import { describeOperation } from './describe-operation.ts';
import { truncateAroundDifference } from './truncate-around-difference.ts';

type Side = (OperationRecord & { readonly goal: string | undefined }) | undefined;

export const compareCells = (one: CellRecords, other: CellRecords): CellDiff['parts'] => {
  const numbers = new Set([...one.operations.keys(), ...other.operations.keys()]);
  const [oneGoals, otherGoals] = [goalsOf(one), goalsOf(other)];
  let hashesTell = true;
  for (const op of [...numbers].sort((left, right) => left - right)) {
    const [left, right] = [operationOf(one, op, oneGoals), operationOf(other, op, otherGoals)];
    const [leftPrint, rightPrint] = [printOf(left, hashesTell), printOf(right, hashesTell)];
    if (leftPrint !== rightPrint) return { op, ...wordsOf([left, right], [leftPrint, rightPrint]) };
    hashesTell &&= canonicalJson(left?.settle?.value) === canonicalJson(right?.settle?.value);
  }
  return null;
};

/** What each child was given, whatever its caller's model had asked for. */
const goalsOf = ({ children }: CellRecords): ReadonlyMap<CellId, string | undefined> =>
  new Map(children.map(({ birth, received }) => [birth.cell, received.get(0)?.content]));

const operationOf = ({ operations }: CellRecords, op: number, goals: ReturnType<typeof goalsOf>): Side => {
  const operation = operations.get(op);
  const child = operation?.begin.birth?.cell;
  return operation && { ...operation, goal: child === undefined ? undefined : goals.get(child) };
};

/** What an ending is, whenever it came and whatever it cost. */
export const outcomeFingerprint = (outcome: Outcome | undefined): Json => {
  if (outcome === undefined) return null;
  const { status, output, data, failure, missing } = outcome;
  return { status, output, data, failure, missing };
};

/**
 * The hash of a prompt covers ids of calls and numbers of crossings. Where those were not the same before, it tells nothing,
 * and the view is compared: what it is made of has been compared already.
 */
const printOf = (operation: Side, hashesTell: boolean): string => {
  if (operation === undefined) return '';
  const { begin, attempt, settle, goal } = operation;
  return canonicalJson({
    goal,
    do: begin.do,
    name: begin.name,
    about: begin.about,
    agent: begin.birth?.agent,
    definition: begin.birth?.digest,
    settings: attempt?.settings,
    prompt: hashesTell ? attempt?.prompt : withoutNumbers(attempt?.changes ?? null),
    settled: settle && {
      ok: settle.ok,
      halted: settle.halted,
      value: valueOf(operation),
      failure: settle.failure,
      ended: outcomeFingerprint(settle.ended?.outcome),
    },
  });
};

/** A reply without what the provider calls its parts; of a child nothing: where its answer crossed is a number. */
const valueOf = ({ begin, attempt, settle }: OperationRecord): Json => {
  const value = settle?.value ?? null;
  if (begin.birth !== undefined) return null;
  const parts = isObject(value) ? value['parts'] : undefined;
  if (attempt === undefined || !isObject(value) || !Array.isArray(parts)) return value;
  return {
    ...value,
    parts: parts.map((part: Json) => (isObject(part) ? { ...part, id: undefined, meta: undefined } : part)),
  };
};

/** A view without the numbers of the crossings that it is made of. */
const withoutNumbers = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(withoutNumbers);
  if (!isObject(value)) return value;
  if (value['from'] === 'crossing') return { from: 'crossing' };
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withoutNumbers(part ?? null)]));
};

const wordsOf = (
  [one, other]: readonly [Side, Side],
  [onePrint, otherPrint]: readonly [string, string],
): { readonly one: string; readonly other: string } => {
  const [left, right] = [describeOperation(one, one?.goal), describeOperation(other, other?.goal)];
  if (left !== right) return truncateAroundDifference(left, right);
  for (const [what, hashOf] of hashes) {
    const [leftHash, rightHash] = [hashOf(one), hashOf(other)];
    if (leftHash !== rightHash)
      return { one: hashWords(left, what, leftHash), other: hashWords(right, what, rightHash) };
  }
  return truncateAroundDifference(`${left} ${onePrint}`, `${right} ${otherPrint}`);
};

/** What is known by its hash alone. */
const hashes: readonly (readonly [what: string, hashOf: (operation: Side) => Hash | undefined])[] = [
  ['prompt', (operation) => operation?.attempt?.prompt],
  ['definition', (operation) => operation?.begin.birth?.digest],
];

const hashWords = (words: string, what: string, hash: Hash | undefined): string =>
  truncateAroundDifference(`${what} ${hash === undefined ? 'missing' : `sha256 ${hash.slice(0, 12)}…`}: ${words}`, '')
    .one;
