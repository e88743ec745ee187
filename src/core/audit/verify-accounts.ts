// Checks that no cell spent more than its caps. Runs after the frame is read.
//
//   audit-holds-within-caps. The log says when a hold was granted. At that moment the sum of spent, uncertain and held amounts
//       was within every cap. An operation settles with a cost or an uncertain amount if, and only if, it had its hold.
import { canonicalJson } from '#base';
import type { CellId } from '#base';
import type { Amounts, Frame, ModelReply } from '#contracts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { CellRecords, OperationRecord, RunRecords, SettleFrameRecord } from './records.ts';

type UsedAmounts = { tokens: number; nanoUsd: number; spawns: number };
type Key = keyof UsedAmounts;
const keys: readonly Key[] = ['tokens', 'nanoUsd', 'spawns'];

type Held = { readonly cell: CellId; readonly hold: Amounts };

export class AccountsCheck {
  readonly #records: RunRecords;
  readonly #problems: AuditProblems;
  readonly #accounts = new Map<CellId, UsedAmounts>();
  readonly #held = new Map<string, Held>();
  readonly #overdrawn: { readonly where: string; readonly cell: CellRecords }[] = [];

  constructor(records: RunRecords, problems: AuditProblems) {
    this.#records = records;
    this.#problems = problems;
  }

  next(frame: Frame): void {
    const { record } = frame;
    // What was in flight at a fork belongs to the other run.
    if (record.type === 'fork') for (const key of this.#held.keys()) this.#release(key);
    const cell = this.#records.cells.get(frame.cell);
    if (cell === undefined || !('op' in record)) return;
    const where = problemLocation(frame, frame.cell, record.op);
    const key = `${frame.cell}/${record.op}`;
    switch (record.type) {
      case 'begin':
        if (record.birth !== undefined) this.#request(frame.cell, { spawns: 1 }, where);
        if (record.hold !== undefined && record.waits !== true)
          this.#take(key, { cell: frame.cell, hold: record.hold }, where);
        return;
      case 'held': {
        const hold = cell.operations.get(record.op)?.begin.hold;
        if (hold !== undefined) return this.#take(key, { cell: frame.cell, hold }, where);
        return this.#problems.add('hold-record', where, 'it requested no hold');
      }
      case 'again':
        if (!this.#release(key)) this.#problems.add('hold-record', where, 'it is retried, but it had no hold');
        return this.#use(frame.cell, record.uncertain);
      case 'settle':
        return this.#settle(cell, record, where);
      case 'post':
      case 'ruling':
    }
  }

  release(cell: CellId): void {
    this.#accounts.delete(cell);
  }

  finish(): void {
    for (const { where, cell } of this.#overdrawn)
      if (cell.end !== undefined && cell.end.outcome.status !== 'budget')
        this.#problems.add('overdraft', where, 'it cost more than its hold, but the cell did not end with `budget`');
  }

  #settle(cell: CellRecords, record: SettleFrameRecord, where: string): void {
    const operation = cell.operations.get(record.op);
    if (operation === undefined) return;
    const id = cell.birth.cell;
    verifyCost(operation, record, { where, problems: this.#problems });
    const wasHeld = this.#release(`${id}/${record.op}`);
    if (wasHeld !== (record.cost !== undefined || record.uncertain !== undefined))
      this.#problems.add('hold-record', where, wasHeld ? 'its hold has no cost' : 'it has a cost, but had no hold');
    this.#use(id, settledAmounts(record));
    const line = selfAndAncestors(this.#records, id);
    const isOverdrawn = (key: Key) => (costAmounts(record)[key] ?? 0) > (operation.begin.hold?.[key] ?? Infinity);
    if (keys.some((key) => isOverdrawn(key) && line.some(({ birth }) => birth.caps[key] !== undefined)))
      this.#overdrawn.push({ where, cell });
  }

  #take(key: string, held: Held, where: string): void {
    if (this.#held.has(key)) return this.#problems.add('hold-record', where, 'its hold was granted twice');
    this.#held.set(key, held);
    this.#request(held.cell, { tokens: held.hold.tokens, nanoUsd: held.hold.nanoUsd }, where);
  }

  #release(key: string): boolean {
    const held = this.#held.get(key);
    if (held === undefined) return false;
    this.#held.delete(key);
    this.#use(held.cell, { tokens: -(held.hold.tokens ?? 0), nanoUsd: -(held.hold.nanoUsd ?? 0) });
    return true;
  }

  /** Like `#use`, for an amount that must fit. */
  #request(cell: CellId, amounts: Amounts, where: string): void {
    this.#use(cell, amounts);
    for (const { birth } of selfAndAncestors(this.#records, cell))
      for (const key of keys) {
        const [cap, most] = [birth.caps[key], this.#accounts.get(birth.cell)![key]];
        if (cap !== undefined && (amounts[key] ?? 0) > 0 && most > cap)
          this.#problems.add('cap-exceeded', where, `${most} ${key} in the account of ${birth.cell}, capped at ${cap}`);
      }
  }

  #use(cell: CellId, amounts: Amounts): void {
    for (const { birth } of selfAndAncestors(this.#records, cell)) {
      const used = this.#accounts.get(birth.cell) ?? { tokens: 0, nanoUsd: 0, spawns: 0 };
      this.#accounts.set(birth.cell, used);
      for (const key of keys) used[key] += amounts[key] ?? 0;
    }
  }
}

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

/**
 * The cost must equal the usage that the reply reported, and an uncertain amount must not exceed the hold. The cost of
 * a reply that broke off is not known.
 */
const verifyCost = (
  { begin, attempt }: OperationRecord,
  settle: SettleFrameRecord,
  { where, problems }: { readonly where: string; readonly problems: AuditProblems },
): void => {
  const { uncertain = {}, cost } = settle;
  if (keys.some((key) => (uncertain[key] ?? 0) > (begin.hold?.[key] ?? 0)))
    problems.add('uncertain-amount', where, 'more is uncertain than was held');
  if (attempt === undefined) return;
  if (settle.failure?.code === 'model_cut' && cost !== undefined)
    problems.add('cost-usage', where, 'it has a cost, although its reply broke off');
  if (!settle.ok) return;
  const { usage } = settle.value as unknown as ModelReply;
  if (usage !== null && cost !== undefined && canonicalJson(usage) !== canonicalJson(cost.usage))
    problems.add('cost-usage', where, 'the cost differs from the usage that the reply reported');
};
