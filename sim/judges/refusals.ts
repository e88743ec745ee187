// A budget refuses only what does not fit: holds are released, and unused amounts are not counted.
import type { Amounts } from '#contracts';
import type { RunHistory } from '../history.ts';
import { runFacts } from './facts.ts';
import type { CellFacts, OperationFacts, RunFacts } from './facts.ts';
import type { Judge } from './judge.ts';

type Sums = { tokens: number; nanoUsd: number; spawns: number };

export const refusals: Judge = {
  name: 'budgets refuse only what does not fit',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const accounts = new Accounts(runFacts(run));
      walk(run, accounts, (operation) => {
        checks++;
        const { begin, cell } = operation;
        if (begin.hold !== undefined ? !accounts.fits(operation) : !accounts.canSpawn(cell)) return;
        report(
          `${cell.birth.cell}/${begin.op} (${begin.name}) to be allowed, because it fits`,
          'the budget refused it',
        );
      });
    }
    return checks;
  },
};

const walk = (run: RunHistory, accounts: Accounts, refused: (operation: OperationFacts) => void): void => {
  const { operations } = runFacts(run);
  for (const { record, cell } of run.frames) {
    if (record.type === 'fork') accounts.fork();
    if (record.type === 'resume') accounts.crash();
    if (!('op' in record)) continue;
    const operation = operations.get(`${cell}/${record.op}`);
    if (operation === undefined) continue;
    switch (record.type) {
      case 'begin':
        accounts.begin(operation);
        break;
      case 'held':
        accounts.hold(operation);
        break;
      case 'again':
        accounts.again(operation);
        break;
      case 'settle':
        accounts.settle(operation);
        if (record.failure?.code === 'budget_refused' && operation.begin.do === 'step') refused(operation);
        break;
      case 'post':
      case 'ruling':
        break;
      default:
        record satisfies never;
    }
  }
};

class Accounts {
  readonly #used = new Map<CellFacts, Sums>();
  readonly #floors = new Map<CellFacts, Amounts>();
  /** Operations that have their hold; true if they got it before a crash, so that it counts as used. */
  readonly #held = new Map<OperationFacts, boolean>();

  constructor({ cells }: RunFacts) {
    for (const cell of cells.values()) {
      this.#used.set(cell, { tokens: 0, nanoUsd: 0, spawns: 0 });
      // A team reserves an amount for its answer.
      if (cell.birth.floor !== undefined) this.#floors.set(cell, cell.birth.floor);
    }
  }

  begin(operation: OperationFacts): void {
    const { begin, cell } = operation;
    if (begin.do === 'child') for (const one of selfAndAncestors(cell)) this.#used.get(one)!.spawns++;
    if (begin.birth?.task?.part === 'answer') this.#floors.delete(cell);
    // It has answered, and makes no more requests.
    if (begin.name === 'wait:spawned') this.#floors.delete(cell);
    if (begin.hold === undefined) return;
    this.#floors.set(cell, begin.hold);
    if (begin.waits !== true) this.hold(operation);
  }

  hold(operation: OperationFacts): void {
    this.#held.set(operation, false);
  }

  crash(): void {
    for (const operation of this.#held.keys()) this.#held.set(operation, true);
  }

  /** Operations in flight at a fork belong to the other run. */
  fork(): void {
    this.#held.clear();
  }

  again(operation: OperationFacts): void {
    this.#add(operation.cell, operation.begin.hold ?? {});
    this.#held.delete(operation);
  }

  settle(operation: OperationFacts): void {
    const { cost, uncertain } = operation.settle!;
    this.#held.delete(operation);
    if (uncertain !== undefined) this.#add(operation.cell, uncertain);
    if (cost === undefined) return;
    const { usage, nanoUsd } = cost;
    this.#add(operation.cell, { tokens: usage.inputTokens + usage.outputTokens, nanoUsd: nanoUsd ?? 0 });
  }

  fits({ begin: { hold }, cell }: OperationFacts): boolean {
    const floor = { tokens: 0, nanoUsd: 0 };
    return selfAndAncestors(cell).every((one) => {
      if (one !== cell) {
        floor.tokens += this.#floors.get(one)?.tokens ?? 0;
        floor.nanoUsd += this.#floors.get(one)?.nanoUsd ?? 0;
      }
      const doubt = this.#uncertainIn(one);
      return (['tokens', 'nanoUsd'] as const).every(
        (key) =>
          this.#used.get(one)![key] + doubt[key] + (hold?.[key] ?? 0) + floor[key] <= (one.birth.caps[key] ?? Infinity),
      );
    });
  }

  canSpawn(cell: CellFacts): boolean {
    return selfAndAncestors(cell).every((one) => this.#used.get(one)!.spawns < (one.birth.caps.spawns ?? Infinity));
  }

  #add(cell: CellFacts, { tokens = 0, nanoUsd = 0 }: Amounts): void {
    for (const one of selfAndAncestors(cell)) {
      const sums = this.#used.get(one)!;
      sums.tokens += tokens;
      sums.nanoUsd += nanoUsd;
    }
  }

  #uncertainIn(account: CellFacts): { readonly tokens: number; readonly nanoUsd: number } {
    const doubt = { tokens: 0, nanoUsd: 0 };
    for (const [{ begin, cell }, crashed] of this.#held) {
      if (!crashed || !selfAndAncestors(cell).includes(account)) continue;
      doubt.tokens += begin.hold?.tokens ?? 0;
      doubt.nanoUsd += begin.hold?.nanoUsd ?? 0;
    }
    return doubt;
  }
}

const selfAndAncestors = (cell: CellFacts): readonly CellFacts[] => {
  const line: CellFacts[] = [];
  for (let one: CellFacts | null = cell; one !== null; one = one.parent) line.push(one);
  return line;
};
