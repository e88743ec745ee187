// Checks that every byte of every prompt follows from its origin. Runs after the frame is read.
import { sha256, utf8Bytes } from '#base';
import type { CellId, Hash } from '#base';
import { decodeHistory } from '#contracts';
import type { AgentDefinition, Attempt, Frame, ModelReply, SegmentRecord } from '#contracts';
import { isMadeBy, toToolName } from '#core/rules';
import { problemLocation } from './problems.ts';
import type { ProblemCode, AuditProblems } from './problems.ts';
import { applyAttempt, cellSources, startPrompt } from './rebuild-prompt.ts';
import type { PromptChange, PromptState, RebuiltSegment } from './rebuild-prompt.ts';
import { newMap, replyParts } from './records.ts';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';
import { ReleasingMap } from './releasing-map.ts';

/** A cell's prompt with its sizes as running sums, so that the audit of long sessions stays linear. */
type CheckedPrompt = PromptState & {
  bytes: number;
  /** NaN once a segment could not be rebuilt, because the log records only its bytes. */
  chars: number;
  readonly charsOf: Map<number, number>;
  /** The estimate that holds are computed from; NaN as with `chars`. */
  tokens: number;
  readonly tokensOf: Map<number, number>;
  /** The tools in view. */
  readonly tools: Set<number>;
  readonly unattributed: Set<number>;
  /** The segments in view that show a tool call of an earlier turn as such. */
  readonly earlierCalls: Set<number>;
  newest: OperationRecord | undefined;
};

/** What came into the view of a cell's model with an attempt, and what left it. */
export type SegmentChange = { readonly added: readonly SegmentRecord[]; readonly removed: readonly SegmentRecord[] };

export const verifyPrompts = (
  records: RunRecords,
  problems: AuditProblems,
  onView: (cell: CellRecords, change: SegmentChange) => void = () => undefined,
) => {
  const prompts = new Map<CellId, CheckedPrompt>();
  const count = { prompts: 0, promptBytes: 0, unattributedBytes: 0 };
  const next = (frame: Frame): void => {
    const { attempt, record } = frame;
    const cell = records.cells.get(frame.cell);
    if (attempt === undefined) return;
    count.prompts++;
    count.promptBytes += attempt.bytes;
    if (cell === undefined) return void (count.unattributedBytes += attempt.bytes);
    const prompt = prompts.get(frame.cell) ?? startCheckedPrompt(records);
    prompts.set(frame.cell, prompt);
    const where = problemLocation(frame, frame.cell, record.type === 'begin' ? record.op : undefined);
    const problem = (code: ProblemCode, message: string) => problems.add(code, where, message);
    const { added, removed } = verifyAttempt(prompt, attempt, { cell, records, problem });
    onView(cell, {
      added: added.map((segment) => segment.record),
      removed: removed.flatMap((id) => prompt.segments.get(id)?.record ?? []),
    });
    releaseSegments(prompt, removed);
    verifyTurn(prompt.newest, attempt, problem);
    if (record.type === 'begin') prompt.newest = cell.operations.get(record.op);
    for (const id of prompt.unattributed) count.unattributedBytes += prompt.segments.get(id)?.record.bytes ?? 0;
  };
  return {
    count,
    next,
    of: (cell: CellId) => prompts.get(cell),
    release: (cell: CellId) => void prompts.delete(cell),
  };
};

/** The prompt and the context of a cell may be shared later. */
const releaseSegments = ({ segments, charsOf, tokensOf }: CheckedPrompt, removed: readonly number[]): void => {
  if (!(segments instanceof ReleasingMap)) return;
  for (const id of removed) {
    charsOf.delete(id);
    tokensOf.delete(id);
    segments.release(id, ({ record }: RebuiltSegment) => record.id !== 0 && record.category !== 'CONTEXT');
  }
};

const startCheckedPrompt = (records: RunRecords): CheckedPrompt => ({
  ...startPrompt(),
  segments: newMap(records),
  bytes: 0,
  chars: 0,
  charsOf: new Map(),
  tokens: 0,
  tokensOf: new Map(),
  tools: new Set(),
  unattributed: new Set(),
  earlierCalls: new Set(),
  newest: undefined,
});

type CheckContext = {
  readonly cell: CellRecords;
  readonly records: RunRecords;
  readonly problem: (code: ProblemCode, message: string) => void;
};

const verifyAttempt = (
  prompt: CheckedPrompt,
  attempt: Attempt,
  { cell, records, problem }: CheckContext,
): PromptChange => {
  const change = applyAttempt(prompt, attempt, cellSources(records, cell));
  for (const fault of change.faults) problem('prompt-view', fault);
  for (const segment of change.added) {
    const fault = segmentFault(segment, cell, records.root?.startedAt);
    if (fault !== undefined) {
      problem(fault.code, `segment ${segment.record.id}: ${fault.message}`);
      prompt.unattributed.add(segment.record.id);
    }
  }
  verifyHash(prompt, attempt, { change, problem });
  verifySizes(prompt, attempt, { change, problem, holds: records.holds });
  verifyEarlierCalls(prompt, { change, problem });
  verifySchema(attempt, cellSources(records, cell).definition, problem);
  return change;
};

/** Vendors refuse calls in a request without tools. */
const verifyEarlierCalls = ({ tools, earlierCalls }: CheckedPrompt, { change, problem }: AttemptCheck): void => {
  for (const { record } of change.added)
    if (isMadeBy(record.origin.rule, 'history') && (record.origin.with?.[2] ?? 0) > 0) earlierCalls.add(record.id);
  for (const id of change.removed) earlierCalls.delete(id);
  if (earlierCalls.size > 0 && tools.size === 0)
    problem('prompt-view', 'it shows tool calls of earlier turns as calls, but offers no tools');
};

/** A schema that went with a request is the definition's own. */
const verifySchema = (
  { schemaBytes }: Attempt,
  definition: AgentDefinition | undefined,
  problem: CheckContext['problem'],
): void => {
  if (schemaBytes === undefined || definition === undefined) return;
  const { schema } = definition.output;
  if (schema === undefined || utf8Bytes(JSON.stringify(schema)) !== schemaBytes)
    problem('prompt-bytes', 'the schema that went with the request is not its definition’s');
};

const segmentFault = (
  segment: RebuiltSegment,
  cell: CellRecords,
  startedAt: number | undefined,
): { code: ProblemCode; message: string } | undefined => {
  const { record, part, problem } = segment;
  if (problem !== undefined) return { code: 'prompt-source', message: problem };
  if (record.origin.rule === 'system@2' && record.origin.with?.[0] !== startedAt)
    return { code: 'prompt-source', message: "its date differs from the run's" };
  if (isMadeBy(record.origin.rule, 'history') && !hasRightSpeaker(record, cell))
    return { code: 'prompt-source', message: 'it is attributed to the wrong speaker' };
  const bytes = utf8Bytes(JSON.stringify(part));
  if (bytes !== record.bytes)
    return { code: 'prompt-part', message: `its sources give ${bytes} bytes, but the model was shown ${record.bytes}` };
  if (!matchesItsCall(segment, cell))
    return { code: 'prompt-call', message: 'it shows the result of a tool that was not called' };
  return undefined;
};

/** Only a model's own messages may be shown to it as its own, and of tool calls only its own. */
const hasRightSpeaker = ({ origin, category }: SegmentRecord, { birth, received }: CellRecords): boolean => {
  const [source] = origin.of;
  const content = source?.from === 'crossing' ? received.get(source.seq)?.content : undefined;
  if (content === undefined) return false;
  const [place = 0, own = 0] = origin.with ?? [];
  const entry = decodeHistory(content).entries[place];
  const isOwn = entry?.agent === birth.agent;
  return (
    entry?.category === category && (own === 1) === (isOwn && category === 'DIALOG') && (isOwn || category !== 'TOOLS')
  );
};

/** A result must be shown under the name of the tool that produced it. */
const matchesItsCall = ({ record: { origin } }: RebuiltSegment, { operations }: CellRecords): boolean => {
  if (!isMadeBy(origin.rule, 'tool-result', 'child-result')) return true;
  const [call, result] = origin.of;
  if (call?.from !== 'reply' || result?.from !== 'operation') return false;
  const reply = operations.get(call.no);
  const part = reply && replyParts(reply)[call.part];
  const name = operations.get(result.no)?.begin.name;
  return part?.type === 'call' && name !== undefined && modelName(name) === part.name;
};

/** An agent is recorded under its tool name as written; a tool under the name that the model gave. */
const modelName = (name: string): string =>
  name.startsWith('agent:') ? toToolName(name.slice('agent:'.length)) : name.slice(name.indexOf(':') + 1);

type AttemptCheck = { readonly change: PromptChange } & Pick<CheckContext, 'problem'>;

/** Continues from the recorded hash, so that one change is reported only once. */
const verifyHash = (prompt: CheckedPrompt, attempt: Attempt, { change, problem }: AttemptCheck): void => {
  const whole = change.added.every(({ part }) => part !== undefined);
  if (whole && hashAfter(prompt.hash, attempt, change.texts) !== attempt.prompt) {
    problem('prompt-hash', 'the rebuilt prompt differs from what the model was shown');
    for (const { record } of change.added) prompt.unattributed.add(record.id);
  }
  prompt.hash = attempt.prompt;
};

const verifySizes = (
  prompt: CheckedPrompt,
  attempt: Attempt,
  { change, problem, holds }: AttemptCheck & Pick<RunRecords, 'holds'>,
): void => {
  for (const { record, part } of change.added) {
    const json = part === undefined ? undefined : JSON.stringify(part);
    const [chars, tokens] = json === undefined ? [NaN, NaN] : [json.length, holds?.partTokens(json, part) ?? NaN];
    prompt.charsOf.set(record.id, chars);
    prompt.tokensOf.set(record.id, tokens);
    prompt.bytes += record.bytes;
    prompt.chars += chars;
    prompt.tokens += tokens;
    if (part !== undefined && 'tool' in part) prompt.tools.add(record.id);
  }
  for (const id of change.removed) {
    prompt.bytes -= prompt.segments.get(id)?.record.bytes ?? 0;
    prompt.chars -= prompt.charsOf.get(id) ?? 0;
    prompt.tokens -= prompt.tokensOf.get(id) ?? 0;
    prompt.tools.delete(id);
    prompt.unattributed.delete(id);
  }
  if (attempt.bytes !== prompt.bytes)
    problem('prompt-bytes', `its segments have ${prompt.bytes} bytes, but the attempt says ${attempt.bytes}`);
  if (!Number.isNaN(prompt.chars) && attempt.chars !== prompt.chars)
    problem('prompt-bytes', `its segments have ${prompt.chars} characters, but the attempt says ${attempt.chars}`);
  if (!Number.isNaN(prompt.tokens) && attempt.tokens !== prompt.tokens)
    problem('prompt-bytes', `its segments have about ${prompt.tokens} tokens, but the attempt says ${attempt.tokens}`);
};

/** A usable reply completes a turn, so the next attempt belongs to the next turn; after any other reply, the turn is repeated. */
const verifyTurn = (newest: OperationRecord | undefined, { turn }: Attempt, problem: CheckContext['problem']): void => {
  const expected = newest?.attempt === undefined ? 1 : newest.attempt.turn + (isUsable(newest) ? 1 : 0);
  if (turn !== expected) problem('prompt-turn', `the attempt belongs to turn ${turn}, but turn ${expected} was next`);
};

const isUsable = (operation: OperationRecord): boolean =>
  operation.settle?.ok === true &&
  !['content-filter', 'error'].includes((operation.settle.value as unknown as ModelReply).finish) &&
  replyParts(operation).some((part) => part.type === 'call' || (part.type === 'text' && part.text.trim() !== ''));

/** Each change is one link of the chain; the last link, which may be empty, also covers the settings and the window limit. */
const hashAfter = (hash: Hash, { settings, window: { tokens, by } }: Attempt, texts: readonly string[]): Hash => {
  const linked = texts.slice(0, -1).reduce((before, text) => sha256(before + text), hash);
  return sha256(`${linked}${settings}${tokens}${by}${texts.at(-1) ?? ''}`);
};
