// Allowances and slots of callers hold over all servers of a workspace together.
import { rmSync } from 'node:fs';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import { hashToken, openCloister, openServer } from 'cloister';
import type { TokenEntry } from 'cloister';
import { Allowances } from '../../../src/app/serve/allowances.ts';
import { CallerClaims } from '../../../src/app/serve/caller-claims.ts';
import { CallerSlots } from '../../../src/app/serve/caller-slots.ts';
import { SlotQueue } from '../../../src/app/serve/slot-queue.ts';
import type { ReleaseSlot } from '../../../src/app/serve/slot-queue.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { newMapDisk, openMapStore } from '../../adapters/stores/map-disk.ts';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';
import { gatedAgent } from './gated-agent.ts';

const spentOf = (tokens: number) => ({
  inputTokens: tokens,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  usd: 0,
  ms: 0,
  steps: 0,
  spawns: 0,
  uncertain: 0,
});

const ann: TokenEntry = { name: 'ann', sha256: '', allowance: { tokens: 10, per: 'month' } };

const isolated = { running: 100, runningPerAgent: 100, waiting: 100 };

/** Servers on one disk in memory. */
const servers = (count: number) => {
  const disk = newMapDisk();
  const now = Date.now();
  return Array.from({ length: count }, () => {
    const store = openMapStore(disk);
    const claims = new CallerClaims(store, systemClock);
    return {
      store,
      claims,
      allowances: new Allowances(
        () => now,
        async () => [],
        claims,
      ),
      slots: new CallerSlots(new SlotQueue(isolated), claims, systemClock),
    };
  });
};

// invariant: allowance-over-servers
// invariant: claims-counted-once
test('10 units let 10 of 25 racers in, over two servers', async () => {
  const both = servers(2);
  const asked = Array.from({ length: 25 }, (_, nth) => both[nth % 2]!.allowances.reserve(ann, { tokens: 1 }));
  const settled = await Promise.allSettled(asked);
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  for (const one of settled)
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'server_busy' });
    else one.value(spentOf(0));
  // What was not spent is there again.
  await Promise.all(both.map(({ claims }) => claims.idle()));
  const again = await Promise.allSettled(both.map(({ allowances }) => allowances.reserve(ann, { tokens: 5 })));
  expect(again.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
  await expect(both[0]!.allowances.reserve(ann, { tokens: 1 })).rejects.toMatchObject({ code: 'server_busy' });
});

test('whatever servers reserve and settle, all of them together stay within the allowance, and nothing is lost', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ server: fc.nat(2), most: fc.integer({ min: 1, max: 4 }), used: fc.nat(4) }), {
        maxLength: 12,
      }),
      async (requests) => {
        const all = servers(3);
        // Each server counts what was spent before it came.
        for (const { allowances } of all) (await allowances.reserve(ann, { tokens: 0 }))(spentOf(0));
        let [spent, held] = [0, 0];
        await Promise.all(
          requests.map(async ({ server, most, used }) => {
            const settle = await all[server]!.allowances.reserve(ann, { tokens: most }).catch(() => null);
            if (settle === null) return;
            held += most;
            expect(spent + held).toBeLessThanOrEqual(10);
            await new Promise((resolve) => void setImmediate(resolve));
            const really = Math.min(used, most);
            held -= most;
            spent += really;
            settle(spentOf(really));
          }),
        );
        for (const { claims } of all) await claims.idle();
        for (const { allowances } of all) expect((await allowances.usage(ann))?.tokens?.used).toBe(spent);
      },
    ),
    { numRuns: 30 },
  ));

// invariant: claims-end-with-process
test('what a server had reserved that has died is there again, and what was spent is counted from the runs', async () => {
  const [dead, live] = servers(2);
  await dead!.allowances.reserve(ann, { tokens: 10 });
  await expect(live!.allowances.reserve(ann, { tokens: 1 })).rejects.toMatchObject({ code: 'server_busy' });
  dead!.store.kill();
  const entry = { ...ann, budget: { tokens: 4 } };
  const counting = new Allowances(
    () => Date.now(),
    async () => [{ state: 'interrupted', spent: null } as never, { state: 'running', spent: null } as never],
    live!.claims,
  );
  await expect(counting.reserve(entry, { tokens: 7 })).rejects.toMatchObject({ code: 'allowance_used' });
  await counting.reserve(entry, { tokens: 6 });
});

test('a release that could not be written comes with the next change', async () => {
  const inner = memoryStore();
  let isFull = false;
  const store = {
    ...inner,
    writeShared: async (...given: Parameters<typeof inner.writeShared>) => {
      if (isFull) throw new Error('The disk is full.');
      return inner.writeShared(...given);
    },
  };
  const allowances = new Allowances(
    () => 10,
    async () => [],
    new CallerClaims(store, systemClock),
  );
  const settle = await allowances.reserve(ann, { tokens: 10 });
  isFull = true;
  settle(spentOf(3));
  await expect(allowances.reserve(ann, { tokens: 1 })).rejects.toThrow('full');
  isFull = false;
  await allowances.reserve(ann, { tokens: 7 });
  await expect(allowances.reserve(ann, { tokens: 1 })).rejects.toMatchObject({ code: 'server_busy' });
});

// invariant: slots-over-servers
test('slots of a caller are counted over all servers, and one that becomes free on another server is noticed', async () => {
  const [one, other] = servers(2);
  const request = { agent: 'lead', caller: 'ann', callerMax: 2, sharedMax: 2 };
  const [first, second] = [await one!.slots.acquire(request), await other!.slots.acquire(request)];
  const order: string[] = [];
  const wait = async (name: string, queue: CallerSlots): Promise<ReleaseSlot> => {
    const release = await queue.acquire(request);
    order.push(name);
    return release;
  };
  const third = wait('third', one!.slots);
  const fourth = wait('fourth', one!.slots);
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(order).toEqual([]);
  // Others are not in their way.
  (await one!.slots.acquire({ ...request, caller: 'bob' }))();
  second();
  const releaseThird = await third;
  expect(order).toEqual(['third']);
  // A run that works again takes its slot, whatever the limit.
  const reacquired = other!.slots.reacquire(request);
  await other!.claims.idle();
  first();
  releaseThird();
  reacquired();
  (await fourth)();
  const gone = new AbortController();
  const [five, six] = [await one!.slots.acquire(request), await one!.slots.acquire(request)];
  const seventh = other!.slots.acquire(request, gone.signal);
  gone.abort();
  await expect(seventh).rejects.toMatchObject({ code: 'cancelled' });
  five();
  six();
});

test('two servers of one workspace let a caller have its allowance once, and its slots once', async () => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  const { agent, gate } = gatedAgent('lead');
  const token = 'ann'.padEnd(40, 'x');
  const entry = {
    name: 'ann',
    sha256: hashToken(token),
    budget: { tokens: 100_000 },
    allowance: { tokens: 1_000_000, per: 'day' },
    running: 6,
  } as const;
  const serve = async () => {
    const cloister = await openCloister({ workspace, agents: [agent] });
    const server = await openServer(cloister, { tokens: [entry], port: 0, slots: { waiting: 100 } });
    const { url } = await server.listen();
    onTestFinished(async () => {
      await server.stop(0);
      await cloister.close();
    });
    return async (): Promise<number> => {
      const response = await fetch(`${url}/v1/lead`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ input: 'Go.' }),
      });
      await response.text();
      return response.status;
    };
  };
  const asks = [await serve(), await serve()];
  const all = Array.from({ length: 16 }, (_, nth) => asks[nth % 2]!());
  await gate.arrived(6);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(gate.maxWaiting).toBe(6);
  gate.open();
  const statuses = await Promise.all(all);
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  // Each run spends little, so that all of them fit one after the other.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(6);
});
