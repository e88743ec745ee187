// A server takes up the runs that a crash has left behind.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { CloisterError, sha256 } from '#base';
import type { RunId } from '#base';
import type { RunSummary } from '#contracts';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { ServerLine } from 'cloister';
import { rehearse, virtualClock } from '#testkit';
import { RunAdopter } from '#testing/app/serve';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';

const agentNamed = (name: string, prompt = 'Work.') =>
  defineAgent({ name, description: 'Works.', prompt, models: [rehearse([{ reply: 'Done.' }]).model] });

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

// invariant: adopts-own-runs-only
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
  const resumed = lines.flatMap((line) => (line.type === 'resumed' ? [[line.run, line.caller, line.code]] : []));
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
    type: 'resumed',
    run: ids[0],
    caller: 'ann',
    agent: 'lead',
    code: 'replay_differs',
  });
  await server.stop(0);
});

const summary = (run: string): RunSummary =>
  ({ run: run as RunId, agent: 'lead', caller: 'ann', startedAt: 0, state: 'interrupted' }) as RunSummary;

/** An adopter over runs that were resumed at these times, and may fail. */
const adopterOver = (resumedAt: readonly number[], failures: readonly CloisterError[] = []) => {
  const clock = virtualClock(1_000_000);
  const tries: number[] = [];
  const pending = [...failures];
  const adopter = new RunAdopter({
    clock,
    listInterrupted: async () => [summary('r1')],
    report: async () => ({ events: resumedAt.map((at) => ({ type: 'run-resume', at })) as never }),
    resume: async () => {
      tries.push(clock.now());
      const failure = pending.shift();
      if (failure !== undefined) throw failure;
    },
  });
  onTestFinished(() => adopter.stop());
  return { adopter, clock, tries };
};

// invariant: adopts-with-back-off
test('a run that was resumed lately waits, and twice as long each time', async () => {
  const { adopter, clock, tries } = adopterOver([980_000, 990_000, 999_000]);
  await adopter.adopt();
  expect(tries).toEqual([]);
  await clock.advance(38_999);
  expect(tries).toEqual([]);
  await clock.advance(1);
  expect(tries).toEqual([1_039_000]);
});

test('while the disk fails it is tried again; a run that cannot be resumed is tried once', async () => {
  const failing = adopterOver([], [new CloisterError('store_failed'), new CloisterError('store_failed')]);
  await failing.adopter.adopt();
  await failing.clock.advance(10_000);
  await failing.clock.advance(10_000);
  expect(failing.tries).toEqual([1_000_000, 1_010_000, 1_020_000]);
  const changed = adopterOver([], [new CloisterError('replay_differs')]);
  await changed.adopter.adopt();
  await changed.adopter.adopt();
  expect(changed.tries).toEqual([1_000_000]);
});
