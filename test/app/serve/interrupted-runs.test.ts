// A server resumes the runs that a crash has interrupted.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { CloisterError, sha256 } from '#base';
import type { ErrorCode, RunId } from '#base';
import type { RunSummary } from '#contracts';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { ServerLine } from 'cloister';
import { rehearse, virtualClock } from '#testkit';
import type { VirtualClock } from '#testkit';
import type { ResumeAttempt } from '#app/serve';
import { InterruptedRunResumer } from '#testing/app/serve';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';
import { Gate } from './gated-agent.ts';

const agentNamed = (name: string, prompt = 'Work.', model = rehearse([{ reply: 'Done.' }])) =>
  defineAgent({ name, description: 'Works.', prompt, models: [model.model] });

const tokens = [
  { name: 'ann', sha256: sha256('ann'.padEnd(40, 'x')) },
  { name: 'bob', sha256: sha256('bob'.padEnd(40, 'x')) },
];

/** A workspace as a crash leaves it: of each run only its first record was written. */
const crashedWorkspace = async (runs: readonly (readonly [agent: string, caller: string | undefined])[]) => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  const cloister = await openCloister({ workspace, agents: [agentNamed('lead'), agentNamed('other')] });
  const ids: string[] = [];
  for (const [agent, caller] of runs)
    ids.push((await cloister.run(agent, 'Go.', caller === undefined ? {} : { caller }).outcome).run);
  await cloister.close();
  using database = new DatabaseSync(join(workspace, 'cloister.db'));
  database.exec(`DELETE FROM frames WHERE no > 0;
    UPDATE runs SET ended_at = NULL, status = NULL, spent = NULL, frames = 1,
      head = (SELECT hash FROM frames WHERE frames.run = runs.run AND no = 0)`);
  return { workspace, ids };
};

// invariant: resumes-own-runs-only
test('interrupted runs of its callers and agents are resumed, and no others', async () => {
  const { workspace, ids } = await crashedWorkspace([
    ['lead', 'ann'],
    ['lead', 'bob'],
    ['lead', undefined],
    ['lead', 'eve'],
    ['other', 'ann'],
  ]);
  const found = Promise.withResolvers<void>();
  const lines: ServerLine[] = [];
  await using cloister = await openCloister({ workspace, agents: [agentNamed('lead'), agentNamed('other')] });
  const server = await openServer(cloister, {
    agents: ['lead'],
    tokens,
    port: 0,
    log: (line) => {
      lines.push(line);
      if (lines.filter(({ type }) => type === 'run').length === 2) found.resolve();
    },
  });
  await server.listen();
  await found.promise;
  const resumed = lines.flatMap((line) => (line.type === 'resume' ? [[line.run, line.caller, line.code]] : []));
  expect(resumed).toEqual([
    [ids[0], 'ann', null],
    [ids[1], 'bob', null],
  ]);
  const states = new Map((await cloister.runs()).map(({ run, state }) => [run as string, state]));
  expect(ids.map((run) => states.get(run))).toEqual(['ended', 'ended', 'interrupted', 'interrupted', 'interrupted']);
  await server.stop(0);
});

test('a run whose agent has changed is left alone, and the log says why', async () => {
  const { workspace, ids } = await crashedWorkspace([['lead', 'ann']]);
  const told = Promise.withResolvers<ServerLine>();
  await using cloister = await openCloister({ workspace, agents: [agentNamed('lead', 'Work otherwise.')] });
  const server = await openServer(cloister, { tokens, port: 0, log: told.resolve });
  await server.listen();
  expect(await told.promise).toEqual({
    type: 'resume',
    run: ids[0],
    caller: 'ann',
    agent: 'lead',
    code: 'replay_differs',
  });
  await server.stop(0);
});

test('a run that was resumed is not cancelled when the server stops', async () => {
  const { workspace, ids } = await crashedWorkspace([['lead', 'ann']]);
  const gate = new Gate();
  const model = rehearse([{ reply: { text: 'Done.', delayMs: 1 } }], {
    clock: { timer: (_ms, due) => gate.hold(due) },
  });
  await using cloister = await openCloister({ workspace, agents: [agentNamed('lead', 'Work.', model)] });
  const server = await openServer(cloister, { tokens, port: 0 });
  await server.listen();
  await gate.arrived(1);
  const stopped = server.stop();
  gate.open();
  expect(await stopped).toEqual([]);
  expect(await cloister.runs()).toMatchObject([{ run: ids[0], state: 'ended', status: 'completed' }]);
});

const summary = (run: string, caller = 'ann', startedAt = 0): RunSummary =>
  ({ run: run as RunId, agent: 'lead', caller, startedAt, state: 'interrupted' }) as RunSummary;

type ResumerSetup = {
  readonly runs?: readonly RunSummary[];
  /** When each run was resumed before. */
  readonly resumedAt?: Readonly<Record<string, readonly number[]>>;
  readonly resume?: (run: string, signal: AbortSignal) => Promise<void>;
  readonly clock?: VirtualClock;
};

/** `tries`: each attempt to resume, with its time. */
const openResumer = ({
  runs = [summary('r1')],
  resumedAt = {},
  resume = async () => undefined,
  clock = virtualClock(1_000_000),
}: ResumerSetup) => {
  let timesRead = 0;
  const tries: [run: string, at: number][] = [];
  const resumed = new Set<string>();
  const attempts: ResumeAttempt[] = [];
  const resumer = new InterruptedRunResumer({
    clock,
    cloister: {
      runs: async () =>
        runs
          .filter(({ run }) => !resumed.has(run))
          .toSorted((one, other) => one.startedAt - other.startedAt)
          .toReversed(),
      resumeTimes: async (run) => {
        timesRead += 1;
        return resumedAt[run] ?? [];
      },
      questions: async () => [],
    },
    agents: ['lead'],
    tokens: { entry: () => tokens[0] },
    isLive: (run) => resumed.has(run),
    resume: async (_, run, signal) => {
      tries.push([run, clock.now()]);
      await resume(run, signal);
      resumed.add(run);
    },
    resumeAttempted: (attempt) => attempts.push(attempt),
  });
  onTestFinished(() => resumer.stop());
  return { resumer, clock, tries, attempts, timesRead: () => timesRead };
};

/** Fails with these codes, one after the other, and then no more. */
const failingWith = (...codes: readonly ErrorCode[]) => {
  const left = [...codes];
  return async () => {
    const code = left.shift();
    if (code !== undefined) throw new CloisterError(code);
  };
};

// invariant: resumes-with-back-off
test('a run that was resumed recently waits, and twice as long each time', async () => {
  const { resumer, clock, tries } = openResumer({ resumedAt: { r1: [980_000, 990_000, 999_000] } });
  await resumer.resume();
  expect(tries).toEqual([]);
  await clock.advance(38_999);
  expect(tries).toEqual([]);
  await clock.advance(1);
  expect(tries).toEqual([['r1', 1_039_000]]);
});

test('while the disk fails it is tried again; a run that cannot be resumed is tried once', async () => {
  const failing = openResumer({ resume: failingWith('store_failed', 'store_failed') });
  await failing.resumer.resume();
  await failing.clock.advance(10_000);
  await failing.clock.advance(10_000);
  expect(failing.tries.map(([, at]) => at)).toEqual([1_000_000, 1_010_000, 1_020_000]);
  const changed = openResumer({ resume: failingWith('replay_differs') });
  await changed.resumer.resume();
  await changed.resumer.resume();
  expect(changed.tries).toEqual([['r1', 1_000_000]]);
});

// invariant: resumes-by-caller
test('while the runs of one caller wait for a slot, those of another are resumed, each oldest first', async () => {
  const slot = Promise.withResolvers<void>();
  const { resumer, clock, tries } = openResumer({
    runs: [summary('a2', 'ann', 2), summary('a1', 'ann', 1), summary('b2', 'bob', 4), summary('b1', 'bob', 3)],
    resume: (run) => (run === 'a1' ? slot.promise : Promise.resolve()),
  });
  const done = resumer.resume();
  await clock.advance(1);
  expect(tries.map(([run]) => run)).toEqual(['a1', 'b1', 'b2']);
  // What is in progress is not started twice.
  await resumer.resume();
  expect(tries.map(([run]) => run)).toEqual(['a1', 'b1', 'b2']);
  slot.resolve();
  await done;
  expect(tries.map(([run]) => run)).toEqual(['a1', 'b1', 'b2', 'a2']);
});

test('a retry that is due soon does not wait for the back-off of another run', async () => {
  const runs = [summary('r1')];
  const { resumer, clock, tries } = openResumer({ runs, resumedAt: { r1: [970_000, 980_000, 990_000, 999_000] } });
  await resumer.resume();
  runs.push(summary('r2'));
  // As after a run that could not be recorded to its end.
  resumer.resumeLater();
  await clock.advance(10_000);
  expect(tries).toEqual([['r2', 1_010_000]]);
  await clock.advance(69_000);
  expect(tries).toEqual([
    ['r2', 1_010_000],
    ['r1', 1_079_000],
  ]);
});

test('a retry is not lost while a run waits for a slot', async () => {
  const slot = Promise.withResolvers<void>();
  const runs = [summary('r1')];
  const { resumer, clock, tries } = openResumer({
    runs,
    resume: (run) => (run === 'r1' ? slot.promise : Promise.resolve()),
  });
  const done = resumer.resume();
  await clock.advance(1);
  runs.push(summary('r2'));
  resumer.resumeLater();
  await clock.advance(10_000);
  expect(tries.map(([run]) => run)).toEqual(['r1', 'r2']);
  slot.resolve();
  await done;
});

// invariant: resumes-without-being-told
test('runs that another process leaves later are found, and nothing is looked for any more when the server stops', async () => {
  const runs: RunSummary[] = [];
  const { resumer, clock, tries } = openResumer({ runs });
  resumer.start();
  await clock.advance(25_000);
  runs.push(summary('r1'));
  await clock.advance(10_000);
  expect(tries.map(([run]) => run)).toEqual(['r1']);
  resumer.stop();
  expect(clock.waiting).toBe(0);
});

test('a clock that was set back by a day makes no run wait longer, whenever that happens', async () => {
  const ahead = openResumer({ resumedAt: { r1: [1_000_000 + 86_400_000] } });
  await ahead.resumer.resume();
  expect(ahead.tries).toEqual([]);
  await ahead.clock.advance(10_000);
  expect(ahead.tries).toEqual([['r1', 1_010_000]]);
  let setBackMs = 0;
  const virtual = virtualClock(100_000_000);
  const clock = { ...virtual, now: () => virtual.now() - setBackMs };
  const waits = openResumer({ clock, resumedAt: { r1: [99_999_000] } });
  await waits.resumer.resume();
  setBackMs = 86_400_000;
  await virtual.advance(9_000);
  expect(waits.tries).toHaveLength(1);
});

test('the log of a run that waits because of back-off is not read again until then', async () => {
  const { resumer, clock, tries, timesRead } = openResumer({ resumedAt: { r1: [970_000, 980_000, 990_000, 999_000] } });
  resumer.start();
  await clock.advance(78_999);
  expect([tries.length, timesRead()]).toEqual([0, 1]);
  await clock.advance(1);
  expect(tries).toEqual([['r1', 1_079_000]]);
});

test('when the server stops, runs leave the queue and stay as they are', async () => {
  const { resumer, clock, tries, attempts } = openResumer({
    runs: [summary('r1'), summary('r2')],
    resume: (_, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(new CloisterError('cancelled')), { once: true }),
      ),
  });
  const done = resumer.resume();
  await clock.advance(1);
  resumer.stop();
  await done;
  await clock.advance(60_000);
  expect(tries.map(([run]) => run)).toEqual(['r1']);
  expect(attempts).toEqual([]);
});
