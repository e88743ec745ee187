// Checks that no cell spent more than its caps. Runs after the frame is read.
//
//   A6. A begin frame requests a hold. An operation that settles with a cost or an uncertain amount had its hold. In that case,
//       just before it settled, the sum of spent, uncertain and held amounts was within every cap.
import { canonicalJson } from '#base';
import type { CellId } from '#base';
import type { Amounts, Frame, ModelReply } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { CellRecords, OperationRecord, RunRecords, SettleFrameRecord } from './records.ts';

type UsedAmounts = { tokens: number; nanoUsd: number; spawns: number };
type Key = keyof UsedAmounts;
const keys: readonly Key[] = ['tokens', 'nanoUsd', 'spawns'];

export const verifyAccounts = (records: RunRecords, problems: AuditProblems) => {
  const accounts = new Map<CellId, UsedAmounts>();
  const overdrawn: { readonly where: string; readonly cell: CellRecords }[] = [];
  const use = (cell: CellId, amounts: Amounts, where: string, above: Amounts = amounts): void => {
    for (const holder of selfAndAncestors(records, cell)) {
      const used = accounts.get(holder.birth.cell) ?? { tokens: 0, nanoUsd: 0, spawns: 0 };
      accounts.set(holder.birth.cell, used);
      for (const key of keys) {
        const [cap, most] = [holder.birth.caps[key], used[key] + (above[key] ?? 0)];
        if (cap !== undefined && (above[key] ?? 0) > 0 && most > cap)
          problems.add(
            'cap-exceeded',
            where,
            `${most} ${key} in the account of ${holder.birth.cell}, capped at ${cap}`,
          );
        used[key] += amounts[key] ?? 0;
      }
    }
  };
  const next = (frame: Frame): void => {
    const { record } = frame;
    const cell = records.cells.get(frame.cell);
    if (cell === undefined || !('op' in record)) return;
    const where = problemLocation(frame, frame.cell, record.op);
    const operation = cell.operations.get(record.op);
    if (record.type === 'begin') return record.birth && use(frame.cell, { spawns: 1 }, where);
    if (record.type === 'again') return use(frame.cell, record.uncertain, where, {});
    if (operation === undefined || record.type === 'post') return;
    verifyCost(operation, record, { where, problems });
    const hold = operation.begin.hold ?? {};
    const wasHeld = record.cost !== undefined || record.uncertain !== undefined;
    if (wasHeld) use(frame.cell, settledAmounts(record), where, hold);
    const line = selfAndAncestors(records, frame.cell);
    const isOverdrawn = (key: Key) => (costAmounts(record)[key] ?? 0) > (hold[key] ?? Infinity);
    if (keys.some((key) => isOverdrawn(key) && line.some(({ birth }) => birth.caps[key] !== undefined)))
      overdrawn.push({ where, cell });
  };
  const finish = (): void => {
    for (const { where, cell } of overdrawn)
      if (cell.end !== undefined && cell.end.outcome.status !== 'budget')
        problems.add('overdraft', where, 'it cost more than its hold, but the cell did not end with `budget`');
  };
  return { next, finish };
};

/** The cell and all its ancestors. */
const selfAndAncestors = ({ cells }: RunRecords, cell: CellId): readonly CellRecords[] => {
  const line: CellRecords[] = [];
  let holder = cells.get(cell);
  while (holder !== undefined && !line.includes(holder)) {
    line.push(holder);
    holder = holder.birth.parent === null ? undefined : cells.get(holder.birth.parent);
  }
  return line;
};

const costAmounts = ({ cost }: SettleFrameRecord): Amounts =>
  cost === undefined ? {} : { tokens: cost.usage.inputTokens + cost.usage.outputTokens, nanoUsd: cost.nanoUsd ?? 0 };

const settledAmounts = (settle: SettleFrameRecord): Amounts => {
  const cost = costAmounts(settle);
  const { uncertain = {} } = settle;
  return {
    tokens: (cost.tokens ?? 0) + (uncertain.tokens ?? 0),
    nanoUsd: (cost.nanoUsd ?? 0) + (uncertain.nanoUsd ?? 0),
  };
};

/** The cost must equal the usage that the reply reported, and an uncertain amount must not exceed the hold. */
const verifyCost = (
  { begin, attempt }: OperationRecord,
  settle: SettleFrameRecord,
  { where, problems }: { readonly where: string; readonly problems: AuditProblems },
): void => {
  const { uncertain = {}, cost } = settle;
  if (keys.some((key) => (uncertain[key] ?? 0) > (begin.hold?.[key] ?? 0)))
    problems.add('uncertain-amount', where, 'more is uncertain than was held');
  if (attempt === undefined || !settle.ok) return;
  const { usage } = settle.value as unknown as ModelReply;
  if (usage !== null && cost !== undefined && canonicalJson(usage) !== canonicalJson(cost.usage))
    problems.add('cost-usage', where, 'the cost differs from the usage that the reply reported');
};
