// A loop that branches on which operation settles first takes the same path when it is replayed.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { recordFormats } from '#base';
import type { CellId, RunId } from '#base';
import type { Frame, PendingOperation, RunLog, StepOperation, RunPorts } from '#contracts';
import { LocalContext, LocalRun, readRecordedRun } from '#core/cells';
import { Account } from '#core/events';
import { defineAgent } from '#core/orchestration';
import { countingIds, virtualClock } from '#testkit';

const agent = defineAgent({ name: 'loop', description: 'Branches', prompt: '' });
const cell = 'loop-1' as CellId;

const logOf = (frames: Frame[]): RunLog => ({
  append: (frame) => void frames.push(frame),
  durable: () => undefined,
  close: async () => undefined,
});

const createCell = (frames: Frame[], recorded: readonly Frame[] | null) => {
  const clock = virtualClock(1_000);
  const ports = {
    run: 'r' as RunId,
    log: logOf(frames),
    clock,
    ids: countingIds('order'),
    storeBlob: async () => '',
    lane: () => undefined,
  };
  const run = new LocalRun(
    ports as Partial<RunPorts> as RunPorts,
    () => Promise.reject(new Error('none')),
    1_000,
    recorded === null ? undefined : { recorded: readRecordedRun(recorded) },
  );
  if (recorded === null)
    run.write(
      cell,
      1_000,
      {
        type: 'open',
        recordedBy: { format: recordFormats.newest, build: 'test' },
        birth: { cell, parent: null, agent: 'loop', digest: agent.digest, depth: 0, caps: {}, deadline: 0 },
      },
      { childAgent: agent },
    );
  return {
    clock,
    context: new LocalContext(
      run,
      { cell, agent, depth: 0, createdAt: 1_000, parent: null, goal: null, deadline: 0, ancestry: [] },
      new Account(null, {}),
    ),
  };
};

/** Steps with these delays; each settlement starts another step, named after the one that settled. */
const branchingLoop = async (
  context: LocalContext,
  delays: readonly number[],
  wait: (ms: number) => Promise<void>,
): Promise<readonly string[]> => {
  const path: string[] = [];
  const step = (name: string, ms: number): StepOperation => ({
    do: 'step',
    name,
    repeat: 'free',
    timeoutMs: 1e9,
    timeoutCode: 'tool_timeout',
    work: () => wait(ms).then(() => name),
  });
  let pending: PendingOperation[] = delays.slice(0, 3).map((ms, index) => context.begin(step(`s${index}`, ms)));
  let next = 3;
  while (pending.length > 0) {
    const first = await context.first(pending);
    path.push(`${first.no}@${context.now}`);
    pending = pending.filter((one) => one !== first);
    const ms = delays[next++];
    if (ms !== undefined) pending.push(context.begin(step(`after ${first.no}`, ms)));
  }
  return path;
};

// invariants: port-as-of-settlements, settlements-in-recorded-order, cell-time-by-settlement, operations-in-recorded-order
test('settlements are delivered in recorded order, live and replayed, from any prefix', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 3, maxLength: 12 }),
      fc.nat(),
      async (delays, cut) => {
        const frames: Frame[] = [];
        const live = createCell(frames, null);
        const timed = (clock: ReturnType<typeof virtualClock>) => (ms: number) =>
          new Promise<void>((resolve) => void clock.timer(ms, resolve));
        const running = branchingLoop(live.context, delays, timed(live.clock));
        await live.clock.runAll();
        const path = await running;

        const replayed = createCell([], frames);
        const never = () => Promise.reject(new Error('a settled step ran again'));
        expect(await branchingLoop(replayed.context, delays, never)).toEqual(path);

        const prefix = frames.slice(0, 1 + (cut % frames.length));
        const settled = prefix.flatMap(({ record }) => (record.type === 'settle' ? [record.op] : []));
        const resumed = createCell([], prefix);
        const resumedPath = branchingLoop(resumed.context, delays, timed(resumed.clock));
        await resumed.clock.runAll();
        expect((await resumedPath).slice(0, settled.length).map((entry) => Number(entry.split('@')[0]))).toEqual(
          settled,
        );
      },
    ),
    { numRuns: 300 },
  ));

// invariant: stopped-cell-hears-nothing
test('a settlement caused by stopping the cell is not delivered on replay: the cell is stopped there', async () => {
  const frames: Frame[] = [];
  const live = createCell(frames, null);
  const never: StepOperation = {
    do: 'step',
    name: 'tool:hang',
    repeat: 'free',
    timeoutMs: 1e9,
    timeoutCode: 'tool_timeout',
    work: () => new Promise(() => undefined),
  };
  const waiting = live.context.first([live.context.begin(never)]);
  live.context.halt({ code: 'deadline_passed' });
  await expect(waiting).rejects.toMatchObject({ code: 'deadline_passed' });
  expect(frames.map(({ record }) => record.type)).toEqual(['open', 'begin', 'settle']);

  const again = createCell([], frames);
  await expect(again.context.first([again.context.begin(never)])).rejects.toMatchObject({ code: 'deadline_passed' });
  await again.context.whenAllSettled();
});
