// A budget refuses only what does not fit: what was held comes back, and what was not used is not counted.
import type { Amounts } from '#contracts';
import type { RunHistory } from '../history.ts';
import { factsOf } from './facts.ts';
import type { CellFacts, OperationFacts, RunFacts } from './facts.ts';
import type { Judge } from './judge.ts';

type Sums = { tokens: number; nanoUsd: number; spawns: number };

export const refusals: Judge = {
  name: 'only what does not fit is refused',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs) {
      const accounts = new Accounts(factsOf(run));
      walk(run, accounts, (operation) => {
        checks++;
        const { begin, cell } = operation;
        if (begin.hold !== undefined ? !accounts.fits(operation) : !accounts.canSpawn(cell)) return;
        say(`${cell.birth.cell}/${begin.op} (${begin.name}) to be allowed: it fits`, 'the budget refused it');
      });
    }
    return checks;
  },
};

const walk = (run: RunHistory, accounts: Accounts, refused: (operation: OperationFacts) => void): void => {
  const { operations } = factsOf(run);
  let isCut = false;
  for (const { record, cell } of run.frames) {
    if (record.type === 'fork') accounts.cut();
    // Who goes on from a cut has not crashed: nothing of its own was under way.
    if (record.type === 'resume' && !isCut) accounts.crash();
    if (record.type === 'fork' || record.type === 'resume') isCut = record.type === 'fork';
    if (!('op' in record)) continue;
    const operation = operations.get(`${cell}/${record.op}`);
    if (operation === undefined) continue;
    if (record.type === 'begin') accounts.begin(operation);
    if (record.type === 'again') accounts.again(operation);
    if (record.type !== 'settle') continue;
    accounts.settle(operation);
    if (record.failure?.code === 'budget_refused' && operation.begin.do === 'step') refused(operation);
  }
};

class Accounts {
  readonly #used = new Map<CellFacts, Sums>();
  readonly #floors = new Map<CellFacts, Amounts>();
  /** Under way now; true: since before a crash, so that it may count already. */
  readonly #flying = new Map<OperationFacts, boolean>();

  constructor({ cells }: RunFacts) {
    for (const cell of cells.values()) {
      this.#used.set(cell, { tokens: 0, nanoUsd: 0, spawns: 0 });
      // A team keeps something free for its answer.
      if (cell.birth.floor !== undefined) this.#floors.set(cell, cell.birth.floor);
    }
  }

  begin(operation: OperationFacts): void {
    const { begin, cell } = operation;
    if (begin.do === 'child') for (const one of lineOf(cell)) this.#used.get(one)!.spawns++;
    if (begin.birth?.task?.part === 'answer') this.#floors.delete(cell);
    if (begin.hold === undefined) return;
    this.#floors.set(cell, begin.hold);
    this.#flying.set(operation, false);
  }

  crash(): void {
    for (const operation of this.#flying.keys()) this.#flying.set(operation, true);
  }

  /** What was under way there is another run's. */
  cut(): void {
    for (const operation of this.#flying.keys()) this.#flying.set(operation, false);
  }

  again(operation: OperationFacts): void {
    this.#add(operation.cell, operation.begin.hold ?? {});
    this.#flying.set(operation, false);
  }

  settle(operation: OperationFacts): void {
    const { cost, uncertain } = operation.settle!;
    this.#flying.delete(operation);
    if (uncertain !== undefined) this.#add(operation.cell, uncertain);
    if (cost === undefined) return;
    const { usage, nanoUsd } = cost;
    this.#add(operation.cell, { tokens: usage.inputTokens + usage.outputTokens, nanoUsd: nanoUsd ?? 0 });
  }

  fits({ begin: { hold }, cell }: OperationFacts): boolean {
    const floor = { tokens: 0, nanoUsd: 0 };
    return lineOf(cell).every((one) => {
      if (one !== cell) {
        floor.tokens += this.#floors.get(one)?.tokens ?? 0;
        floor.nanoUsd += this.#floors.get(one)?.nanoUsd ?? 0;
      }
      const doubt = this.#doubtIn(one);
      return (['tokens', 'nanoUsd'] as const).every(
        (key) =>
          this.#used.get(one)![key] + doubt[key] + (hold?.[key] ?? 0) + floor[key] <= (one.birth.caps[key] ?? Infinity),
      );
    });
  }

  canSpawn(cell: CellFacts): boolean {
    return lineOf(cell).every((one) => this.#used.get(one)!.spawns < (one.birth.caps.spawns ?? Infinity));
  }

  #add(cell: CellFacts, { tokens = 0, nanoUsd = 0 }: Amounts): void {
    for (const one of lineOf(cell)) {
      const sums = this.#used.get(one)!;
      sums.tokens += tokens;
      sums.nanoUsd += nanoUsd;
    }
  }

  #doubtIn(account: CellFacts): { readonly tokens: number; readonly nanoUsd: number } {
    const doubt = { tokens: 0, nanoUsd: 0 };
    for (const [{ begin, cell }, crashed] of this.#flying) {
      if (!crashed || !lineOf(cell).includes(account)) continue;
      doubt.tokens += begin.hold?.tokens ?? 0;
      doubt.nanoUsd += begin.hold?.nanoUsd ?? 0;
    }
    return doubt;
  }
}

const lineOf = (cell: CellFacts): readonly CellFacts[] => {
  const line: CellFacts[] = [];
  for (let one: CellFacts | null = cell; one !== null; one = one.parent) line.push(one);
  return line;
};
