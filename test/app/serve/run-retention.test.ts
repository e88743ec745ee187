// A server deletes what is no longer kept: in passes, never what counts for an allowance or was just answered, and never in its way.
import { expect, onTestFinished, test } from 'vitest';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import type { Cloister, KeepRules, ServerLine } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { postRequest } from './local-requests.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

const agentNamed = (name: string) =>
  defineAgent({ name, description: 'Works.', prompt: '', models: [rehearse([{ reply: 'Yes.' }]).model] });

const tokens = [
  { name: 'ann', sha256: hashToken('ann') },
  {
    name: 'cap',
    sha256: hashToken('cap'),
    allowance: { tokens: 1_000_000, per: 'month' as const },
    budget: { tokens: 5_000 },
  },
];

type Setup = { readonly keep?: KeepRules; readonly workspace?: string; readonly expireRuns?: boolean };

/** The 3rd of January. */
const start = Date.UTC(2030, 0, 3);

const open = async ({ keep, workspace, expireRuns = true }: Setup) => {
  const clock = virtualClock(start);
  const cloister = await openCloister({
    agents: [agentNamed('lead'), agentNamed('scout')],
    ...(workspace === undefined ? { store: 'memory' } : { workspace }),
    ...(keep === undefined ? {} : { keep }),
    clock,
  });
  const lines: ServerLine[] = [];
  const log = (line: ServerLine): void => void (line.type === 'expire' && lines.push(line));
  const server = await openServer(cloister, { tokens, port: 0, clock, log, expireRuns });
  const ask = async (as: string, agent = 'lead', more: object = {}): Promise<string> => {
    const answered = await server.fetch(postRequest(`/v1/${agent}`, as, { input: 'Go.', ...more }));
    return ((await answered.json()) as { run: string }).run;
  };
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  return { cloister, clock, server, ask, lines };
};

const left = async (cloister: Cloister): Promise<readonly string[]> =>
  (await cloister.runs()).map(({ run }) => run).toReversed();

// invariants: retention-in-passes, expiry-by-agent
test('a server deletes what is no longer kept when it starts and every hour, and the tombstones say which limit it was', async () => {
  const { cloister, clock, server, ask, lines } = await open({
    keep: { days: 2, agents: { scout: { runs: 1, days: 9 } } },
  });
  const runs = [await ask('ann'), await ask('ann', 'scout'), await ask('ann', 'scout')] as const;
  await clock.advance(3 * day);
  await server.listen();
  await clock.advance(0);
  expect(await left(cloister)).toEqual([runs[2]]);
  expect(await cloister.storage.tombstone(runs[0])).toMatchObject({ by: 'retention', why: 'keep.days: 2' });
  expect(await cloister.storage.tombstone(runs[1])).toMatchObject({
    by: 'retention',
    why: 'keep.agents.scout.runs: 1',
  });
  expect(lines).toEqual([{ type: 'expire', runs: 2, code: null }]);
  const later = await ask('ann');
  await clock.advance(2 * day);
  expect(await left(cloister)).toEqual([runs[2], later]);
  await clock.advance(2 * hour);
  expect(await left(cloister)).toEqual([runs[2]]);
});

// invariant: retention-keeps-allowances
test('a run that counts for an allowance stays until it no longer does, and one that was just answered for ten minutes', async () => {
  const { cloister, clock, server, ask } = await open({ keep: { runs: 1, days: 0.01 } });
  await server.listen();
  const [own, counted] = [await ask('ann'), await ask('cap')];
  await clock.advance(hour);
  expect(await left(cloister)).toEqual([counted]);
  await clock.advance(27 * day);
  expect(await left(cloister)).toEqual([counted]);
  await clock.advance(2 * day);
  expect(await left(cloister)).toEqual([]);
  const late = await ask('ann');
  await clock.advance(5 * minute);
  expect(await left(cloister)).toEqual([late]);
  expect(own).not.toBe(late);
});

test('nothing is deleted if nothing says how long runs are kept, or if the server is told not to', async () => {
  for (const setup of [{}, { keep: { days: 0.01 }, expireRuns: false }]) {
    const { cloister, clock, server, ask, lines } = await open(setup);
    await server.listen();
    const run = await ask('ann');
    await clock.advance(400 * day);
    expect([await left(cloister), lines]).toEqual([[run], []]);
  }
  const { cloister } = await open({});
  await expect(cloister.storage.expire()).rejects.toMatchObject({ code: 'options_invalid' });
});

// invariant: expiry-in-batches
test('a pass ends with its batch when the server stops, and the next server goes on where it ended', async () => {
  const { cloister, clock, server } = await open({ keep: { days: 1 } });
  for (let nth = 0; nth < 120; nth++) await cloister.run('lead', 'Go.').outcome;
  await clock.advance(2 * day);
  const { storage } = cloister;
  const stop = new AbortController();
  // After the first batch.
  const spare = (): boolean => {
    stop.abort();
    return false;
  };
  expect(await storage.expire(undefined, { spare, signal: stop.signal })).toEqual([]);
  expect(await storage.expire(undefined, { most: 30 })).toHaveLength(30);
  await server.listen();
  await clock.advance(0);
  expect(await left(cloister)).toEqual([]);
});

test('servers of one workspace delete the same runs at the same time, and each run has one tombstone', async () => {
  await using folder = await temporaryFolder();
  const one = await open({ workspace: folder.path, keep: { days: 1 } });
  const other = await open({ workspace: folder.path, keep: { days: 1 } });
  for (let nth = 0; nth < 6; nth++) await one.ask('ann', 'lead', nth < 3 ? { conversation: 'trip' } : {});
  await one.clock.advance(2 * day);
  await other.clock.advance(2 * day);
  const gone = await Promise.all([one, other].map(({ cloister }) => cloister.storage.expire()));
  const runs = gone.flat().map(({ run }) => run);
  expect(new Set(runs).size).toBe(6);
  expect(runs).toHaveLength(6);
  expect(await left(one.cloister)).toEqual([]);
  expect((await one.cloister.audit(runs[0]!).catch((error: { code: string }) => error)) as object).toMatchObject({
    code: 'run_unknown',
  });
});
