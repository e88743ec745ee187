// An observer of all runs of a Cloister.
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { DurableEvent, Frame, ObserveOptions } from '#contracts';
import { projectEvents } from '#core/events';
import { defineAgent, defineTool, openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { estimateBytes } from '../../src/app/frame-reader.ts';
import { RunObserver } from '../../src/app/run-observer.ts';
import type { FrameListener } from '../../src/app/run-feed.ts';
import { temporaryFolder } from '../isolation/temporary-folder.ts';
import { testRuns } from '../test-seed.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const note = defineTool({
  name: 'note',
  description: 'Writes a long note.',
  inputSchema: { type: 'object', properties: {} },
  execute: () => 'A long note. '.repeat(2_000),
});

/** An agent with a sub-agent and a tool whose output is long. */
const openLead = (where: { store: 'memory' } | { workspace: string }): Promise<Cloister> => {
  const writer = defineAgent({
    name: 'writer',
    description: 'Writes.',
    prompt: 'Write.',
    models: [rehearse([{ reply: 'It is written.' }])],
  });
  const script = rehearse([
    {
      when: ({ turn: no }) => no === 1,
      reply: { calls: [{ tool: 'writer', args: { prompt: 'Write it.', reason: 'r' } }] },
    },
    { when: ({ turn: no }) => no === 2, reply: { calls: [{ tool: 'note', args: {} }] } },
    { reply: 'Done.' },
  ]);
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    agents: [writer],
    tools: [note],
    models: [script],
  });
  return openCloister({ agents: [lead], ...where });
};

/** The frames of one run, under several names. The goal of each is of another size. */
const recordRuns = async (): Promise<ReadonlyMap<RunId, readonly Frame[]>> => {
  const runs = new Map<RunId, readonly Frame[]>();
  for (const size of [1, 1_000, 40_000, 90_000, 200_000]) {
    await using folder = await temporaryFolder();
    await using cloister = await openLead({ workspace: folder.path });
    const session = cloister.run('lead', 'g'.repeat(size));
    const frames: Frame[] = [];
    (session as unknown as { listen(listener: FrameListener): () => void }).listen({
      frame: (frame) => frames.push(frame),
      end: () => undefined,
    });
    await session.outcome;
    runs.set(session.run, frames);
  }
  return runs;
};

const recorded = await recordRuns();
const runIds = [...recorded.keys()];

/** Runs whose frames are passed on when the test says so, and one observer of them. */
const open = (options: ObserveOptions = {}) => {
  const logs = new Map<RunId, readonly Frame[]>();
  const listeners = new Map<RunId, FrameListener>();
  let gates: (() => void)[] = [];
  let [reads, left] = [0, 0];
  const observer = new RunObserver(
    options,
    {
      read: async (run) => {
        reads += 1;
        const now = logs.get(run);
        await new Promise<void>((resolve) => gates.push(resolve));
        if (now === undefined) throw new CloisterError('run_unknown');
        return now;
      },
      blobsOf: () => memoryStore(),
    },
    () => (left += 1),
  );
  const events = observer.events();
  let told: (() => void)[] = [];
  const tell = (): void => {
    for (const pass of told) pass();
    told = [];
  };
  const taken: DurableEvent[] = [];
  let pending: Promise<void> | undefined;
  const take = (): Promise<void> =>
    (pending ??= (async () => {
      const { value, done } = await events.next();
      if (done !== true) taken.push(value);
      pending = undefined;
    })());
  return {
    observer,
    events,
    taken,
    take,
    get reads() {
      return reads;
    },
    get left() {
      return left;
    },
    listeners,
    isRunning: (run: RunId): boolean => listeners.has(run),
    logOf: (run: RunId): readonly Frame[] => logs.get(run) ?? [],
    start: (run: RunId): void =>
      observer.add({
        run,
        hasFrames: logs.has(run),
        listen: (listener) => {
          listeners.set(run, listener);
          return () => void listeners.delete(run);
        },
      }),
    /** `late`: it can be read before it is passed on, as a commit can. */
    write: (run: RunId, late = false): void => {
      const log = logs.get(run) ?? [];
      const frame = recorded.get(run)![log.length];
      if (frame === undefined) return;
      logs.set(run, [...log, frame]);
      if (listeners.has(run)) told.push(() => listeners.get(run)?.frame(frame));
      if (!late) tell();
    },
    end: (run: RunId): void => {
      tell();
      listeners.get(run)?.end();
    },
    letRead: (): void => {
      for (const go of gates) go();
      gates = [];
    },
    /** Takes everything: the observation is over. */
    drain: async (): Promise<void> => {
      observer.end();
      for (const taking = { over: false }; !taking.over;) {
        const before = taken.length;
        const next = take().then(() => (taking.over = taken.length === before));
        for (const isPending = (): boolean => pending !== undefined; isPending();) {
          for (const go of gates) go();
          gates = [];
          await turn();
        }
        await next;
      }
    },
  };
};

const eventsOf = (frames: readonly Frame[]): readonly DurableEvent[] => {
  const fold = projectEvents('contents');
  return frames.flatMap((frame) => fold.next(frame));
};

describe('an observer', () => {
  const step = fc.record({
    do: fc.constantFrom(...(['start', 'write', 'write late', 'end', 'take', 'take', 'read'] as const)),
    run: fc.constantFrom(...runIds),
    times: fc.constantFrom(1, 3, 12, 40),
  });

  // invariant: observer-once-in-order
  test('gets the events of each run once and in order, in any interleaving of runs, reads and interruptions', () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const world = open();
        const observed = new Set<RunId>();
        for (const { do: what, run, times } of steps) {
          for (let time = 0; time < times; time++) {
            if (what === 'take') {
              void world.take();
              await Promise.resolve();
            } else if (what === 'read') world.letRead();
            // Only the session of a run writes to its log. One that is not observed yet has a past.
            else if (what.startsWith('write') && (world.isRunning(run) || !observed.has(run)))
              world.write(run, what === 'write late');
          }
          // A run that has ended without its last frame is resumed when it starts again.
          const isClosed = world.logOf(run).at(-1)?.record.type === 'close';
          if (what === 'start' && !isClosed) {
            world.start(run);
            observed.add(run);
          }
          if (what === 'end') world.end(run);
          await turn();
        }
        for (const run of runIds) {
          while (world.isRunning(run) && world.logOf(run).length < recorded.get(run)!.length) world.write(run);
          world.end(run);
        }
        await world.drain();
        for (const run of runIds) {
          const seen = world.taken.filter((event) => event.run === run);
          expect(seen).toEqual(observed.has(run) ? eventsOf(world.logOf(run)) : []);
        }
      }),
      { numRuns: testRuns(300) },
    ));

  // invariant: observer-buffer-bounded
  test('that takes nothing has at most 256 KiB and one more frame buffered, for all runs together', async () => {
    const world = open();
    for (const run of runIds) world.start(run);
    for (let no = 0; no < 60; no++) for (const run of runIds) world.write(run);
    while (world.reads === 0) {
      void world.take();
      await turn();
    }
    const frameOf = ({ run, id }: DurableEvent): string => `${run} ${/\d+/u.exec(id.split('/')[1]!)![0]}`;
    const before = world.taken.filter((event) => frameOf(event) !== frameOf(world.taken.at(-1)!));
    expect(before.length).toBeGreaterThan(3);
    expect(before.reduce((sum, event) => sum + estimateBytes(event), 0)).toBeLessThan(256 * 1024);
    for (const run of runIds) world.end(run);
    await world.drain();
    for (const [run, frames] of recorded)
      expect(world.taken.filter((event) => event.run === run)).toEqual(eventsOf(frames));
  });

  test('continues after what it has seen when a run was interrupted and is resumed', async () => {
    const world = open();
    const [run] = runIds as [RunId];
    world.start(run);
    for (let no = 0; no < 4; no++) world.write(run);
    world.end(run);
    world.start(run);
    while (world.logOf(run).length < recorded.get(run)!.length) world.write(run);
    world.end(run);
    await world.drain();
    expect(world.taken).toEqual(eventsOf(recorded.get(run)!));
    expect(world.reads).toBe(1);
  });

  test('gets a frame once that it has read from the log before it is passed on', async () => {
    const world = open();
    const [run] = runIds as [RunId];
    for (let no = 0; no < 4; no++) world.write(run);
    world.start(run);
    world.write(run, true);
    const due = eventsOf(world.logOf(run));
    while (world.taken.length < due.length) {
      void world.take();
      await turn();
      world.letRead();
    }
    void world.take();
    await turn();
    while (world.logOf(run).length < recorded.get(run)!.length) world.write(run);
    world.end(run);
    await world.drain();
    expect(world.taken).toEqual(eventsOf(recorded.get(run)!));
  });

  test('is not disturbed by a second request for a run that is running', async () => {
    const world = open();
    const [run] = runIds as [RunId];
    world.start(run);
    world.write(run);
    let ends: FrameListener | undefined;
    world.observer.add({ run, hasFrames: false, listen: (one) => ((ends = one), () => undefined) });
    ends?.end();
    while (world.logOf(run).length < recorded.get(run)!.length) world.write(run);
    world.end(run);
    await world.drain();
    expect(world.taken).toEqual(eventsOf(recorded.get(run)!));
  });

  test('skips a run of which nothing was recorded', async () => {
    const world = open();
    world.observer.add({ run: 'none' as RunId, hasFrames: true, listen: () => () => undefined });
    world.start(runIds[0]!);
    world.write(runIds[0]!);
    await world.drain();
    expect(world.taken).toEqual(eventsOf(recorded.get(runIds[0]!)!.slice(0, 1)));
  });

  test('that lets more than 10,000 runs end unread is told so', async () => {
    const unreadRunsMax = 10_000;
    const world = open();
    const end = (no: number): void => {
      let heard: FrameListener | undefined;
      const run = `run-${no}` as RunId;
      world.observer.add({ run, hasFrames: true, listen: (one) => ((heard = one), () => undefined) });
      heard?.end();
    };
    for (let no = 0; no < unreadRunsMax; no++) end(no);
    expect(world.left).toBe(0);
    end(unreadRunsMax);
    await expect(world.take()).rejects.toMatchObject({ code: 'observer_behind' });
    expect(world.left).toBe(1);
  });

  // invariant: observer-released-on-leave
  test.each(['return', 'abort'])('that leaves by %s is released, even while it waits', async (how) => {
    const stop = new AbortController();
    const world = open({ signal: stop.signal });
    for (const run of runIds) world.start(run);
    const waiting = world.events.next();
    if (how === 'abort') stop.abort();
    else await world.events.return?.();
    expect(await waiting).toMatchObject({ done: true });
    expect([world.left, world.listeners.size]).toEqual([1, 0]);
  });
});

describe.each(['memory', 'SQLite'])('observing a Cloister with a store of kind %s', (kind) => {
  const openIn = async (): Promise<Cloister> => {
    const folder = await temporaryFolder();
    const cloister = await openLead(kind === 'memory' ? { store: 'memory' } : { workspace: folder.path });
    onTestFinished(async () => {
      await cloister.close();
      await folder[Symbol.asyncDispose]();
    });
    return cloister;
  };

  const collect = async (
    events: AsyncIterable<DurableEvent>,
    wanted: number,
    pace?: () => Promise<void>,
  ): Promise<readonly DurableEvent[]> => {
    const seen: DurableEvent[] = [];
    let ends = 0;
    for await (const event of events) {
      await pace?.();
      seen.push(event);
      if (event.type === 'session-end' && event.cell === rootOf(seen, event.run)) ends += 1;
      if (ends === wanted) break;
    }
    return seen;
  };

  const rootOf = (seen: readonly DurableEvent[], run: RunId): string | undefined =>
    seen.find((event) => event.run === run)?.cell;

  // invariant: observer-once-in-order
  test('shows runs that were running, were started and were forked, as the log has them', async () => {
    const cloister = await openIn();
    const early = cloister.run('lead', 'Early.');
    for await (const event of early) if (event.type === 'child-end') break;
    const quick = collect(cloister.observe(), 12);
    const slow = collect(cloister.observe({ details: true }), 12, turn);
    const sessions = Array.from({ length: 10 }, (_, no) => cloister.run('lead', 'x'.repeat(no * 10_000 + 1)));
    await Promise.all(sessions.map(({ outcome }) => outcome));
    const fork = await cloister.fork(sessions[3]!.run, { at: await firstOperation(cloister, sessions[3]!.run) });
    const runs = [early, ...sessions, fork].map(({ run }) => run);
    const [seenQuickly, seenSlowly] = await Promise.all([quick, slow]);
    for (const run of runs) {
      expect(seenQuickly.filter((event) => event.run === run)).toEqual((await cloister.show(run)).events);
      const { events } = await cloister.show(run, { details: true });
      expect(seenSlowly.filter((event) => event.run === run)).toEqual(events);
    }
    expect(seenQuickly.every((event) => runs.includes(event.run))).toBe(true);
  });

  test('tells a reader who may not see causes none', async () => {
    const cloister = await openIn();
    const [plain, told] = [collect(cloister.observe({ sees: 'answers' }), 1), collect(cloister.observe(), 1)];
    const session = cloister.run('lead', 'Go.', { budget: { tokens: 1 } });
    await session.outcome;
    expect(await plain).toEqual((await cloister.show(session.run, { sees: 'answers' })).events);
    expect(await told).toEqual((await cloister.show(session.run)).events);
  });

  test('ends when the Cloister is closed, after the ends of the runs', async () => {
    const cloister = await openIn();
    const all = (async () => {
      const types: string[] = [];
      for await (const { type } of cloister.observe()) types.push(type);
      return types;
    })();
    cloister.run('lead', 'Go.');
    await turn();
    await cloister.close();
    expect((await all).at(-1)).toBe('session-end');
    expect(() => cloister.observe()).toThrow(expect.objectContaining({ code: 'store_failed' }));
  });

  test('refuses options that it does not know', async () => {
    const cloister = await openIn();
    expect(() => cloister.observe({ sees: 'all' } as never)).toThrow(
      expect.objectContaining({ code: 'options_invalid' }),
    );
    expect(() => cloister.observe({ detail: true } as never)).toThrow(
      expect.objectContaining({ code: 'options_invalid' }),
    );
  });
});

/** The first operation of the root of a run, as `fork` names it. */
const firstOperation = async (cloister: Cloister, run: RunId): Promise<string> => {
  const { events } = await cloister.show(run);
  const start = events.find((event) => event.type === 'model-start')!;
  return `${start.cell}/${'op' in start ? start.op : 0}`;
};
