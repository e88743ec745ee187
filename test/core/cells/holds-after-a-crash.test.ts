// Steps wait for holds, are stopped while they wait or work, and settle; the process crashes after any record, again and again.
// What the log says about holds agrees with what really worked, and the budget counts every call once.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { CellId, RunId } from '#base';
import type { Amounts, ChildRequest, Frame, PendingOperation, RunPorts, StepOperation } from '#contracts';
import { LocalContext, LocalRun, readRecordedRun } from '#core/cells';
import type { LiveCell, RunChild } from '#core/cells';
import type { Account } from '#core/events';
import { defineAgent } from '#core/orchestration';
import { loadAccounts } from '../load-accounts.ts';

const agent = defineAgent({ name: 'worker', description: 'Works', prompt: 'Work.', models: [] });
const root = 'root' as CellId;
const cap = 2_000;
const birth = { cell: root, parent: null, agent: agent.name, digest: agent.digest, depth: 0, deadline: 0 };
const usage = (tokens: number) => ({ inputTokens: tokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 });
const others = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const childRequest = (caps: Amounts): ChildRequest => ({
  agent: { ...agent, caps: { ...agent.caps, budget: caps } },
  goal: null,
});

type Figures = { readonly spent: number; readonly uncertain: number };

/** One run over several processes. Only its log survives a crash. */
class Scenario {
  /** A dead process keeps the array that it wrote to. */
  #frames: Frame[] = [];
  #durable = 0;
  #waitingForDisk: (() => void)[] = [];
  /** How long the log was when each process started. */
  readonly #processStarts = [0];
  #contexts = new Map<CellId, LiveCell>();
  #pending = new Map<string, { readonly cell: CellId; readonly pending: PendingOperation }>();
  /** The steps whose work has started in this process and has not ended. */
  #working = new Map<string, (share: number) => void>();
  /** What the world knows of each granted hold, by the number of the frame that granted it. */
  readonly #calls = new Map<number, { used?: number }>();

  constructor() {
    const run = new LocalRun(this.#ports(), this.#runChild, 0);
    const recordedBy = { format: recordFormats.newest, build: 'test' };
    run.write(root, 0, { type: 'open', recordedBy, birth: { ...birth, caps: { tokens: cap } } });
    this.#openRoot(run);
    this.flush();
  }

  get cells(): readonly CellId[] {
    return [...this.#contexts.keys()];
  }

  step(cell: CellId, hold: Amounts): void {
    this.#begin(cell, this.#stepOperation(hold));
  }

  child(cell: CellId, tokens: number): void {
    this.#beginChild(cell, { tokens });
  }

  /** Stops a step, whether it waits or works, or a child with all that it does. */
  stop(index: number): void {
    const unsettled = [...this.#pending.values()].filter(({ pending }) => !isSettled(pending));
    const one = unsettled[index % unsettled.length];
    if (one !== undefined) this.#contexts.get(one.cell)!.cancel(one.pending, { code: 'deadline_passed' });
    for (const key of this.#working.keys()) if (isSettled(this.#pending.get(key)!.pending)) this.#working.delete(key);
  }

  finish(index: number, share: number): void {
    const [key, finish] = [...this.#working][index % this.#working.size] ?? [];
    if (key !== undefined) this.#working.delete(key);
    finish?.(share);
  }

  flush(): void {
    this.#durable = this.#frames.length;
    for (const wake of this.#waitingForDisk.splice(0)) wake();
  }

  /** The process dies, frames that are not durable may be lost, and another process resumes the cells in any order. */
  async crash(lost: number, order: readonly number[]): Promise<void> {
    this.#frames = this.#frames.slice(0, Math.max(this.#durable, this.#frames.length - lost));
    const { inFlight } = loadAccounts(this.#frames);
    for (const key of this.#working.keys()) if (!inFlight.has(key)) throw new Error(`${key} worked, but has no hold.`);
    this.#contexts = new Map();
    this.#pending = new Map();
    this.#working = new Map();
    this.#waitingForDisk = [];
    this.#durable = this.#frames.length;
    this.#processStarts.push(this.#frames.length);
    for (const no of this.#calls.keys()) if (no >= this.#frames.length) this.#calls.delete(no);
    const recorded = readRecordedRun([...this.#frames]);
    this.#openRoot(new LocalRun(this.#ports(), this.#runChild, 0, { recorded }));
    const next = new Map<CellId, number>();
    const following = (cell: CellId) => recorded.cells.get(cell)?.begins.get(next.get(cell) ?? 0)?.record;
    for (let turn = 0; ; turn++) {
      const ready = this.cells.filter((cell) => following(cell) !== undefined);
      if (ready.length === 0) break;
      const cell = ready[order[turn % order.length]! % ready.length]!;
      const record = following(cell);
      next.set(cell, (next.get(cell) ?? 0) + 1);
      if (record?.type !== 'begin') throw new Error('Only steps and children begin here.');
      if (record.birth !== undefined) this.#beginChild(cell, record.birth.caps);
      else this.#begin(cell, this.#stepOperation(record.hold!));
      if (turn % 3 === 0) await others();
    }
  }

  /** Those that got their hold in this process, according to the log, and those that work. After a flush they are the same. */
  holds(): { readonly granted: readonly string[]; readonly working: readonly string[] } {
    const { inFlight } = loadAccounts(this.#frames);
    const granted = [...inFlight].filter((key) => this.#lastGrant(key) >= this.#processStarts.at(-1)!);
    return { granted: granted.sort(), working: [...this.#working.keys()].sort() };
  }

  /** What was really used, what the live account says, and what a process that read the log now would say. */
  sums() {
    const { spent, unknown, held } = this.#truth();
    const figures = (account: Account): Figures => {
      const { inputTokens, uncertain } = account.spent(0);
      return { spent: inputTokens, uncertain };
    };
    return {
      live: figures(this.#contexts.get(root)!.account),
      trueLive: { spent, uncertain: unknown },
      loaded: figures(loadAccounts(this.#frames).accounts.get(root)!),
      trueLoaded: { spent, uncertain: unknown + held },
      total: spent + unknown + held,
    };
  }

  #truth(): { readonly spent: number; readonly unknown: number; readonly held: number } {
    const sums = { spent: 0, unknown: 0, held: 0 };
    for (const { no, cell, record } of this.#frames) {
      if (!isGrant(record)) continue;
      const same = this.#frames.filter((frame) => keyOf(frame) === `${cell}/${record.op}`);
      const tokens = (same[0]!.record as { hold: Amounts }).hold.tokens!;
      const call = this.#calls.get(no);
      const end = same.find((frame) => frame.no > no);
      const diedWithProcess = this.#processOf(end?.no ?? this.#frames.length) !== this.#processOf(no);
      if (diedWithProcess) sums.unknown += tokens;
      else if (end === undefined) sums.held += tokens;
      else if (call?.used !== undefined) sums.spent += call.used;
      else if (call !== undefined) sums.unknown += tokens;
    }
    return sums;
  }

  #processOf(no: number): number {
    return this.#processStarts.findLastIndex((start) => start <= no);
  }

  #lastGrant(key: string): number {
    return this.#frames.findLastIndex((frame) => keyOf(frame) === key && isGrant(frame.record));
  }

  #begin(cell: CellId, operation: StepOperation): void {
    this.#track(cell, this.#contexts.get(cell)!.begin(operation));
  }

  #beginChild(cell: CellId, caps: Amounts): void {
    const pending = this.#contexts.get(cell)!.beginChild(childRequest(caps));
    if ('code' in pending) throw new Error(pending.detail);
    this.#track(cell, pending);
  }

  #track(cell: CellId, pending: PendingOperation): void {
    this.#pending.set(`${cell}/${pending.no}`, { cell, pending });
  }

  #stepOperation(hold: Amounts): StepOperation {
    const working = this.#working;
    return {
      do: 'step',
      name: 'model:m',
      repeat: 'free',
      timeoutMs: 1_000,
      timeoutCode: 'model_timeout',
      hold,
      work: (step) =>
        new Promise((resolve) => {
          const call: { used?: number } = {};
          this.#calls.set(this.#lastGrant(step.key), call);
          working.set(step.key, (share) => {
            call.used = Math.floor(hold.tokens! * share);
            step.reportCost({ usage: usage(call.used), nanoUsd: 0 });
            resolve(null);
          });
        }),
    };
  }

  #openRoot(run: LocalRun): void {
    const seed = { cell: root, agent, depth: 0, parent: null, createdAt: 0, goal: null, deadline: 0, ancestry: [] };
    this.#contexts.set(root, new LocalContext(run, seed, run.accountFor(root, null, { tokens: cap })));
  }

  readonly #runChild: RunChild = ({ cell }, runtime) => {
    this.#contexts.set(cell, runtime);
    return new Promise(() => undefined);
  };

  #ports(): RunPorts {
    const frames = this.#frames;
    return {
      run: 'a1b2c3d4e5f6' as RunId,
      log: {
        append: (frame) => void frames.push(JSON.parse(JSON.stringify(frame)) as Frame),
        durable: () =>
          this.#durable === frames.length ? undefined : new Promise((resolve) => this.#waitingForDisk.push(resolve)),
        close: async () => undefined,
      },
      clock: { now: () => 0, timer: () => () => undefined },
      ids: { random: () => `c${frames.length}` },
      storeBlob: async () => '',
      lane: () => undefined,
      resources: { resourcesFor: () => ({ models: [], sources: [] }) },
    } as Partial<RunPorts> as RunPorts;
  }
}

const keyOf = ({ cell, record }: Frame): string => ('op' in record ? `${cell}/${record.op}` : '');

const isGrant = (record: Frame['record']): record is Extract<Frame['record'], { type: 'begin' | 'held' }> =>
  record.type === 'held' || (record.type === 'begin' && record.hold !== undefined && record.waits !== true);

const isSettled = (pending: PendingOperation): boolean =>
  (pending as unknown as { result: unknown }).result !== undefined;

const move = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('step' as const),
      at: fc.nat(9),
      tokens: fc.integer({ min: 100, max: 500 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('child' as const),
      at: fc.nat(9),
      tokens: fc.integer({ min: 500, max: 3_000 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('stop' as const), index: fc.nat(20) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('finish' as const),
      index: fc.nat(20),
      share: fc.double({ min: 0, max: 0.2, noNaN: true }),
    }),
  },
  { weight: 6, arbitrary: fc.constant({ do: 'flush' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      lost: fc.nat(4),
      order: fc.array(fc.nat(9), { minLength: 1, maxLength: 9 }),
    }),
  },
);

test('after any crashes, the budget counts each call once, and no hold of a step that was stopped while it waited', () =>
  fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 20, maxLength: 60, size: 'max' }), async (moves) => {
      const scenario = new Scenario();
      const cellAt = (at: number): CellId => scenario.cells[at % scenario.cells.length]!;
      for (const one of moves) {
        if (one.do === 'step') scenario.step(cellAt(one.at), { tokens: one.tokens });
        if (one.do === 'child') scenario.child(cellAt(one.at), one.tokens);
        if (one.do === 'stop') scenario.stop(one.index);
        if (one.do === 'finish') scenario.finish(one.index, one.share);
        if (one.do === 'flush') scenario.flush();
        if (one.do === 'crash') await scenario.crash(one.lost, one.order);
        await others();
        const { live, trueLive, loaded, trueLoaded, total } = scenario.sums();
        expect({ live, loaded }).toEqual({ live: trueLive, loaded: trueLoaded });
        expect(total).toBeLessThanOrEqual(cap);
        const { granted, working } = scenario.holds();
        if (one.do === 'flush') expect(granted).toEqual(working);
      }
    }),
    { numRuns: 120 },
  ));
