// The store in PostgreSQL, against a real server: what every store must do, and what only applies to a store of several machines.
import { randomUUID } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openPostgresStore } from '#adapters/stores';
import type { CloisterError, RunId } from '#base';
import type { RunLog } from '#contracts';
import { openSteadyClock } from '#testing/adapters/stores';
import { conformDeletions, deletionOf, recordRun } from '../../conformance/deletions.ts';
import { conformSharedState } from '../../conformance/shared-state.ts';
import { conformSignals, signalOf } from '../../conformance/signals.ts';
import { conformStore, framesOf, newRun } from '../../conformance/store.ts';
import { startTestDatabase } from '../../postgres.ts';

const database = await startTestDatabase();

describe.skipIf(database === null)('in PostgreSQL', () => {
  const { server, newStore } = database!;
  const opener = () => {
    let url: Promise<string> | undefined;
    return async () => openPostgresStore(await (url ??= newStore()));
  };
  conformStore('postgres', async () => opener()());
  conformDeletions('postgres', opener);
  conformSignals('postgres', opener);
  conformSharedState('postgres', opener, { live: true });

  type Options = Parameters<typeof openPostgresStore>[1];

  const open = async (url: string, options?: Options) => {
    const store = await openPostgresStore(url, options);
    onTestFinished(() => store.close());
    return store;
  };

  /** A process that its machine has put to sleep: its clock jumps, and nothing that it has to do is done meanwhile. */
  const openFreezable = async (url: string) => {
    let [asleep, isFrozen] = [0, false];
    const late: (() => void)[] = [];
    const store = await open(url, {
      steadyNow: () => performance.now() + asleep,
      timer(ms, due) {
        const timer = setTimeout(() => (isFrozen ? late.push(due) : due()), ms).unref();
        return () => clearTimeout(timer);
      },
    });
    const freeze = (): void => {
      isFrozen = true;
      server.run(
        `UPDATE ${schemaOf(url)}.instances SET lapses_at = now() - interval '1 second' WHERE instance = '${store.instance}'`,
        url,
      );
    };
    const wake = (): void => {
      isFrozen = false;
      asleep += 30_000;
      for (const due of late.splice(0)) due();
    };
    return { store, freeze, wake };
  };

  const schemaOf = (url: string): string => new URL(url).searchParams.get('schema')!;

  const failureOf = (log: RunLog): Promise<CloisterError> => new Promise((resolve) => log.onFailure?.(resolve));

  /** After a start of the server, nobody is judged for one lease. */
  const pastGrace = async (url: string): Promise<void> => {
    const isPast = (): string => server.run(`SELECT now() > pg_postmaster_start_time() + interval '4 seconds'`, url);
    await expect.poll(isPast, { interval: 100 }).toBe('t');
  };

  // invariant: postgres-epoch-in-transaction
  test('a process whose run another one has taken over can store nothing more', async () => {
    const url = await newStore();
    await pastGrace(url);
    const [slow, other] = [await openFreezable(url), await open(url)];
    const run = newRun();
    const make = framesOf(run);
    const old = await slow.store.acquireRun(run);
    old.append(make.open());
    await old.durable();
    await expect(other.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
    await expect(other.acquireRun(run, { takeOver: true })).rejects.toMatchObject({ code: 'run_owned' });
    slow.freeze();
    const log = await other.acquireRun(run);
    // It wakes, and knows nothing yet.
    slow.wake();
    const failure = failureOf(old);
    old.append(make.step('of the old owner'));
    await expect(old.durable()).rejects.toMatchObject({ code: 'run_lost' });
    expect((await failure).code).toBe('run_lost');
    log.append(framesOf(run, 1).step('of the new owner'));
    await log.durable();
    expect((await other.read(run)).map(({ no }) => no)).toEqual([0, 1]);
    expect(JSON.stringify(await other.read(run))).toContain('of the new owner');
    await expect(old.close()).rejects.toMatchObject({ code: 'run_lost' });
    expect((await other.list())[0]!.state).toBe('running');
  });

  // invariant: postgres-lease-of-process
  test('a process that was frozen asks for its runs again before anything starts, and loses those that others have', async () => {
    const url = await newStore();
    await pastGrace(url);
    const [slow, other] = [await openFreezable(url), await open(url)];
    const [kept, taken] = [newRun(), newRun()];
    const logs = [await slow.store.acquireRun(kept), await slow.store.acquireRun(taken)] as const;
    logs[0].append(framesOf(kept).open());
    logs[1].append(framesOf(taken).open());
    for (const log of logs) await log.durable();
    expect(logs.map((log) => log.durable())).toEqual([undefined, undefined]);
    slow.freeze();
    await other.acquireRun(taken);
    slow.wake();
    const failure = failureOf(logs[1]);
    const durable = logs.map((log) => log.durable());
    expect(durable.every((one) => one instanceof Promise)).toBe(true);
    await durable[0];
    await expect(durable[1]).rejects.toMatchObject({ code: 'run_lost' });
    expect((await failure).code).toBe('run_lost');
    expect(logs[0].durable()).toBeUndefined();
    logs[0].append(framesOf(kept, 1).step());
    await logs[0].durable();
    await logs[0].close();
    await logs[1].close().catch(() => undefined);
    expect(await other.read(kept)).toHaveLength(2);
  });

  test('a process that owns nothing has no lease, and one that owns keeps its runs while it is idle', async () => {
    const url = await newStore();
    const store = await open(url);
    const leases = (): string =>
      server.run(`SELECT count(*) FROM ${schemaOf(url)}.instances WHERE lapses_at > now()`, url);
    await store.appendRecord({ type: 'forget', checkpoints: [] });
    expect(leases()).toBe('0');
    const run = newRun();
    const log = await store.acquireRun(run);
    const from = performance.now();
    await expect.poll(() => [leases(), performance.now() - from > 4_000], { interval: 100 }).toEqual(['1', true]);
    await log.durable();
    await log.close();
    await store.close();
    expect(leases()).toBe('0');
  });

  // invariant: postgres-batch-once
  test('what is sent again because the connection broke counts once', async () => {
    const url = await newStore();
    const store = await open(url);
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    await log.durable();
    for (let nth = 0; nth < 5; nth++) {
      log.append(make.step(`step ${nth}`));
      const pending = [
        log.durable() ?? Promise.resolve(),
        store.putSignal(signalOf(run, `s${nth}`)),
        store.appendRecord(forget),
      ];
      server.run(cutConnections, url);
      await Promise.all<unknown>(pending);
    }
    await log.close();
    expect((await store.read(run)).map(({ no }) => no)).toEqual([0, 1, 2, 3, 4, 5]);
    expect((await store.signals(run)).map(({ id }) => id)).toEqual(['s0', 's1', 's2', 's3', 's4']);
    expect(await store.readWorkspaceLog()).toHaveLength(5);
  });

  const forget = { type: 'forget', checkpoints: [] } as const;

  const cutConnections = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'cloister%'`;

  test('a batch that comes a second time is answered as the first time', async () => {
    const url = await newStore();
    const call = (number: number): string =>
      server.run(
        `SET search_path = ${schemaOf(url)}; SELECT commit_batch('me', ${number}, '{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','{}','',
          '[]','{}','{}','{}','{}','{"run-a"}', NULL, NULL, 1000, '{}','{}','{}','')`,
        url,
      );
    const [first, again, next] = [call(1), call(1), call(2)];
    expect(again).toBe(first);
    expect(JSON.parse(first).owned[0].epoch).toBe(1);
    expect(JSON.parse(next).owned[0].epoch).toBe(2);
  });

  test('a run continues after the server has crashed and come back', async () => {
    const url = await newStore();
    const [store, other] = [await open(url), await open(url)];
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    await log.durable();
    await server.stop('immediate');
    log.append(make.step());
    const durable = log.durable();
    setTimeout(() => void server.start(), 200);
    await durable;
    // Nobody could renew meanwhile, so nobody is judged.
    server.run(`UPDATE ${schemaOf(url)}.instances SET lapses_at = now() - interval '1 minute'`, url);
    await expect(other.acquireRun(run)).rejects.toMatchObject({ code: 'run_owned' });
    log.append(make.close());
    await log.close();
    expect(await other.read(run)).toHaveLength(3);
  });

  test('what no text of the database can hold is stored all the same', async () => {
    const store = await open(await newStore());
    const run = newRun();
    const log = await store.acquireRun(run);
    const make = framesOf(run);
    const odd = 'NUL \u0000, half a character \ud800, "quotes" \\ and 🧵';
    const opening = make.open(odd);
    const frames = [{ ...opening, record: { ...opening.record, caller: `caller ${odd}` } as never }, make.step(odd)];
    for (const frame of frames) log.append(frame);
    await log.close();
    expect(await store.read(run)).toEqual(frames);
    expect((await store.list({ caller: `caller ${odd}` }))[0]).toMatchObject({ run, goal: odd });
    await store.putSignal(signalOf(run, 'NUL \u0000', { body: { text: odd } }));
    expect((await store.signals(run))[0]).toMatchObject({ id: 'NUL \u0000', body: { text: odd } });
    const at = await store.writeShared('NUL \u0000', { odd }, 0);
    expect([at, await store.readShared('NUL \u0000')]).toEqual([true, { value: { odd }, version: 1 }]);
  });

  test('a changed, missing or lost frame is noticed', async () => {
    const url = await newStore();
    const store = await open(url);
    const [changed, shorter, unlisted] = [await recordRun(store), await recordRun(store), await recordRun(store)];
    const schema = schemaOf(url);
    server.run(
      `UPDATE ${schema}.frames SET body = replace(body, 'one', 'two') WHERE run = '${changed}' AND no = 1`,
      url,
    );
    server.run(`DELETE FROM ${schema}.frames WHERE run = '${shorter}' AND no = 2`, url);
    server.run(`DELETE FROM ${schema}.runs WHERE run = '${unlisted}'`, url);
    for (const run of [changed, shorter, unlisted])
      await expect(store.read(run)).rejects.toMatchObject({ code: 'store_damaged' });
    const states = (await store.list()).map(({ run, state }) => [run, state]);
    expect(states).toEqual([
      [shorter, 'damaged'],
      [changed, 'ended'],
    ]);
  });

  test('two processes that append to the workspace log, delete and import do not get in each other’s way', async () => {
    const url = await newStore();
    const stores = [await open(url), await open(url)];
    const runs = await Promise.all(Array.from({ length: 8 }, (_, nth) => recordRun(stores[nth % 2]!)));
    await Promise.all(
      runs.map(async (run, nth) => {
        const store = stores[(nth + 1) % 2]!;
        const [bodies, { frames, hash }] = [await store.readBodies(run), await store.hashPrefix(run)];
        await store.deleteRuns([await deletionOf(store, run)]);
        await store.appendRecord(forget);
        await store.importRun(bodies, { run, frames, head: hash, by: 'operator' });
      }),
    );
    expect(await stores[0]!.readWorkspaceLog()).toHaveLength(24);
    expect((await stores[1]!.list()).map(({ state }) => state)).toEqual(Array(8).fill('ended'));
  });

  // invariants: channel-only-hints, channel-only-if-followed
  test('frames and live words of a run are heard in another process, in order and each once', async () => {
    const url = await newStore();
    const [owner, reader] = [await open(url), await open(url)];
    const run = newRun();
    const log = await owner.acquireRun(run);
    const make = framesOf(run);
    log.append(make.open());
    await log.durable();
    expect(owner.live!.isFollowed(run)).toBe(false);
    owner.live!.publish(run, { text: 'nobody hears this' });
    const heard: unknown[] = [];
    const stop = reader.live!.subscribe(run, (piece) => void heard.push(piece));
    await expect.poll(() => owner.live!.isFollowed(run), { interval: 10 }).toBe(true);
    const pieces = ['one', '🧵'.repeat(6_000), 'three', '"\\\n'.repeat(4_000)].map((text) => ({ text }));
    for (const piece of pieces) owner.live!.publish(run, piece);
    await expect.poll(() => heard.length, { interval: 10 }).toBe(pieces.length);
    expect(heard).toEqual(pieces);
    stop();
    const seen: number[] = [];
    const following = (async () => {
      for await (const frames of reader.follow(run, 1)) {
        seen.push(...frames.map(({ no }) => no));
        if (seen.length === 20) return;
      }
    })();
    for (let nth = 0; nth < 20; nth++) {
      log.append(make.step());
      await log.durable();
      if (nth === 10) server.run(cutConnections, url);
    }
    await following;
    expect(seen).toEqual(Array.from({ length: 20 }, (_, nth) => nth + 1));
    await expect(reader.follow(newRun(), 0)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'run_unknown',
    });
  });

  // invariant: link-checks-schema
  test.for([
    ['no server', () => 'postgres://cloister@127.0.0.1:1/x', 'store_unreachable', /ECONNREFUSED/u],
    ['no such database', (url: string) => url.replace('test_0', 'none'), 'store_unreachable', /no database none/u],
    ['no tables', (url: string) => `${url}x`, 'store_schema', /cloister store migrate/u],
    ['a wrong user', (url: string) => url.replace('cloister@', 'nobody:secret-word@'), 'store_unreachable', /nobody/u],
  ] as const)('with %s, opening says so at once, and shows no password', async ([, change, code, text]) => {
    const failure = await openPostgresStore(change(await newStore())).catch((error: unknown) => error as CloisterError);
    expect(failure).toMatchObject({ code, message: expect.stringMatching(text) });
    expect(JSON.stringify([failure, (failure as Error).message])).not.toContain('secret-word');
  });

  test.for([
    ['a newer version', `UPDATE meta SET value = '99' WHERE key = 'cloister'`, 'store_schema', /version 99/u],
    [
      'commits that are not waited for',
      `ALTER ROLE cloister SET synchronous_commit = off`,
      'store_failed',
      /synchronous_commit/u,
    ],
    [
      'a server that only reads',
      `ALTER ROLE cloister SET default_transaction_read_only = on`,
      'store_failed',
      /only reads/u,
    ],
  ] as const)('with %s, nothing is written', async ([, sql, code, text]) => {
    const url = await newStore();
    server.run(`SET search_path = ${schemaOf(url)}; ${sql}`, url);
    onTestFinished(() => void server.run('BEGIN READ WRITE; ALTER ROLE cloister RESET ALL; COMMIT', url));
    const attempt = async (): Promise<unknown> => {
      const store = await open(url);
      return store.acquireRun(randomUUID() as RunId);
    };
    await expect(attempt()).rejects.toMatchObject({ code, message: expect.stringMatching(text) });
  });

  // invariant: steady-clock-counts-sleep
  test('the clock of a lease goes on while the machine sleeps, whatever is done to the time of day', () => {
    let [awake, asleep, wall] = [1_000, 0, 1_000_000];
    const now = openSteadyClock({ monotonic: () => awake, wall: () => wall, uptime: () => awake + asleep });
    const pass = (ms: number, shift = 0): number => {
      awake += ms;
      wall += ms + shift;
      return now();
    };
    expect([now(), pass(50), pass(50, 3_600_000), pass(50, -7_200_000)]).toEqual([1_000, 1_050, 1_100, 1_150]);
    asleep += 60_000;
    expect([pass(0, 60_000), pass(10)]).toEqual([61_150, 61_160]);
    const blind = openSteadyClock({ monotonic: () => awake, wall: () => wall, uptime: () => null });
    const before = blind();
    wall += 5_000;
    expect(blind() - before).toBe(5_000);
  });
});
