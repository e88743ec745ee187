// Computes the reply cap and the hold of every attempt again, from what was recorded before it. Runs after the prompt is rebuilt.
//
//   audit-derives-holds. Both follow from the definition, the cell's caps, the model's recorded facts, the prompt, and the
//       usage that this cell's own replies reported. A balance or another cell would show as a difference.
import type { CellId } from '#base';
import type { Amounts, Frame, ModelReply, SegmentRecord, ViewChange } from '#contracts';
import { isMadeBy } from '#core/rules';
import { problemLocation } from './problems.ts';
import type { AuditProblems, Check } from './problems.ts';
import type { CellRecords, RunRecords } from './records.ts';

/** The sizes of a cell's prompt, as of its newest attempt. */
type PromptSizes = {
  readonly tokens: number;
  readonly tokensOf: ReadonlyMap<number, number>;
  readonly tools: ReadonlySet<number>;
};

/** The newest reply of a cell that reported its usage, and the estimate for what the prompt has gained since. */
type ReportedUsage = { readonly op: number; readonly model: string; readonly tokens: number; added: number };

export const verifyHolds = (
  records: RunRecords,
  promptOf: (cell: CellId) => PromptSizes | undefined,
  problems: AuditProblems,
): Check => {
  const reported = new Map<CellId, ReportedUsage | null>();
  const next = (frame: Frame): void => {
    const { record, attempt } = frame;
    const { holds: rules } = records;
    const cell = records.cells.get(frame.cell);
    if (cell === undefined) return;
    if (record.type === 'settle') {
      const usage = usageAfter(cell, record.op);
      if (usage !== null) reported.set(frame.cell, usage);
    }
    const prompt = promptOf(frame.cell);
    if (record.type !== 'begin' || attempt === undefined || prompt === undefined || rules === undefined) return;
    const usage = applyChanges(reported.get(frame.cell) ?? null, attempt.changes, prompt.tokensOf);
    reported.set(frame.cell, usage);
    const where = problemLocation(frame, frame.cell, record.op);
    const differs = (what: string, recorded: number | undefined, expected: number | undefined): void => {
      if (recorded !== expected && !Number.isNaN(expected))
        problems.add(
          'hold-amount',
          where,
          `${what}: ${recorded ?? 'none'} recorded, but ${expected ?? 'none'} expected`,
        );
    };
    const definition = records.definitions.get(cell.birth.digest);
    const { price, modelMax, tokens: reply } = attempt.reply;
    const cap = rules.replyCap({
      agentMax: definition?.limits.maxOutputTokens ?? 0,
      modelMax,
      reasoning: definition?.settings.reasoning ?? 'none',
      windowTokens: attempt.window.tokens,
      caps: capsUpwards(records, cell),
      price,
    });
    differs('the longest reply', reply, cap.tokens);
    if (cap.tooSmall !== null) problems.add('hold-amount', where, 'it had too little room for a reply');
    const isComparable = usage !== null && usage.model === attempt.model;
    const hold = rules.hold({
      model: attempt.model,
      promptTokens: isComparable ? usage.added : prompt.tokens,
      reported: isComparable ? usage.tokens : null,
      hasTools: prompt.tools.size > 0,
      schema: attempt.schemaBytes === undefined ? undefined : definition?.output.schema,
      reply,
      price,
    });
    differs('tokens held', record.hold?.tokens, hold.tokens);
    differs('nano-dollars held', record.hold?.nanoUsd, hold.nanoUsd);
  };
  return { next, release: (cell) => void reported.delete(cell) };
};

/** The caps of the cell, then those of each cell above it. */
const capsUpwards = ({ cells }: RunRecords, { birth }: CellRecords): readonly Amounts[] => {
  const caps = [birth.caps];
  const seen = new Set([birth.cell]);
  for (let { parent } = birth; parent !== null && !seen.has(parent);) {
    const above = cells.get(parent)?.birth;
    if (above === undefined) break;
    caps.push(above.caps);
    seen.add(parent);
    ({ parent } = above);
  }
  return caps;
};

const usageAfter = ({ operations }: CellRecords, op: number): ReportedUsage | null => {
  const operation = operations.get(op);
  if (operation?.attempt === undefined || operation.settle?.ok !== true) return null;
  const { usage } = operation.settle.value as unknown as ModelReply;
  if (usage === null) return null;
  return { op, model: operation.attempt.model, tokens: usage.inputTokens + usage.outputTokens, added: 0 };
};

/** Once something was removed from the prompt, the usage says nothing about it any more. */
const applyChanges = (
  usage: ReportedUsage | null,
  changes: readonly ViewChange[],
  tokensOf: ReadonlyMap<number, number>,
): ReportedUsage | null => {
  if (usage === null || changes.some((change) => !('add' in change))) return null;
  for (const change of changes)
    for (const segment of 'add' in change ? change.add : [])
      if (!isReplyOf(segment, usage.op)) usage.added += tokensOf.get(segment.id) ?? NaN;
  return usage;
};

/** The reported output is this reply. */
const isReplyOf = ({ origin }: SegmentRecord, op: number): boolean => {
  const [source] = origin.of;
  return isMadeBy(origin.rule, 'reply') && source?.from === 'reply' && source.no === op;
};
