// Nothing is told before it is durable: neither events nor receipts, and what could not be written is never told.
import { expect, onTestFinished, test } from 'vitest';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import { memoryStore } from '#adapters/stores';
import { CloisterError, recordFormats } from '#base';
import type { Frame, RunEvent, RunLog, Store } from '#contracts';
import { defineAgent } from 'cloister';
import { countingIds, rehearse, virtualClock } from '#testkit';
import { LocalCloister } from '../../src/app/local-cloister.ts';
import { LocalAgentService, slotLimitsFor, SlotQueue, TokenRegistry } from '#app/serve';

/** A store in memory whose frames are durable when the test says so. */
const heldStore = () => {
  const inner = memoryStore();
  const logs: HeldLog[] = [];
  let isFull = false;
  const store: Store = {
    ...inner,
    acquireRun: async (run, options) => {
      if (isFull) throw new CloisterError('store_failed', 'The disk is full.');
      const log = new HeldLog(await inner.acquireRun(run, options));
      logs.push(log);
      return log;
    },
  };
  const each = (act: (log: HeldLog) => void) => () => logs.forEach(act);
  return {
    store,
    fill: (): void => void (isFull = true),
    commit: each((log) => log.commit()),
    hold: each((log) => log.hold()),
    fail: each((log) => log.fail()),
  };
};

class HeldLog implements RunLog {
  readonly #inner: RunLog;
  readonly #frames: Frame[] = [];
  #onCommit: (newest: number) => void = () => undefined;
  #onFailure: (error: CloisterError) => void = () => undefined;
  #durable = Promise.withResolvers<void>();
  #isHeld = true;
  constructor(inner: RunLog) {
    this.#inner = inner;
    this.#durable.promise.catch(() => undefined);
  }
  append(frame: Frame): void {
    if (this.#isHeld) this.#frames.push(frame);
    else this.#write(frame);
  }
  #write(frame: Frame): void {
    this.#inner.append(frame);
    this.#onCommit(frame.no);
  }
  durable(): Promise<void> | undefined {
    return this.#isHeld ? this.#durable.promise : undefined;
  }
  onCommit(listener: (newest: number) => void): void {
    this.#onCommit = listener;
  }
  onFailure(listener: (error: CloisterError) => void): void {
    this.#onFailure = listener;
  }
  async close(): Promise<void> {
    await this.durable();
    await this.#inner.close();
  }
  commit(): void {
    this.#isHeld = false;
    for (const frame of this.#frames.splice(0)) this.#write(frame);
    this.#durable.resolve();
  }
  /** Nothing that comes from now on is written. */
  hold(): void {
    this.#isHeld = true;
    this.#durable = Promise.withResolvers<void>();
    this.#durable.promise.catch(() => undefined);
  }
  fail(): void {
    const error = new CloisterError('store_failed', 'The disk is full.');
    this.#durable.reject(error);
    this.#onFailure(error);
  }
}

const open = () => {
  const held = heldStore();
  const clock = virtualClock();
  const model = rehearse([{ reply: 'Yes.' }]).model;
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: [model] });
  const cloister = new LocalCloister([agent], {
    store: held.store,
    workspaces: memoryCellFolders(),
    validate,
    schemaProblem: () => null,
    toolSchemaProblem: () => null,
    clock,
    ids: countingIds(),
    lanes: new Map(),
    resources: {
      agents: [agent],
      redactFor: () => null,
      prepare: async () => undefined,
      resourcesFor: () => ({ models: [model], sources: [] }),
      modelsOf: () => [model],
    },
    startInfo: undefined,
    recordedBy: { format: recordFormats.newest, build: 'test' },
  });
  onTestFinished(async () => {
    held.commit();
    await cloister.close();
  });
  return { ...held, cloister, clock };
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

// invariant: told-after-commit
test('a reader gets no event before its commit, then all of them in order', async () => {
  const { cloister, commit } = open();
  const session = cloister.run('lead', 'Go.');
  const events: RunEvent[] = [];
  const reading = (async () => {
    for await (const event of session) events.push(event);
  })();
  await settled();
  expect(events).toEqual([]);
  commit();
  await reading;
  const { events: recorded } = await cloister.show(session.run);
  expect(events.filter((event) => 'id' in event)).toEqual(recorded);
});

// invariant: told-after-commit
test('an observer of all runs gets no event before its commit, also of a run that is already running', async () => {
  const { cloister, commit } = open();
  const events: RunEvent[] = [];
  const observe = async (): Promise<void> => {
    for await (const event of cloister.observe()) events.push(event);
  };
  const observing = [observe()];
  const session = cloister.run('lead', 'Go.');
  await settled();
  observing.push(observe());
  await settled();
  expect(events).toEqual([]);
  commit();
  await session.outcome;
  const { events: recorded } = await cloister.show(session.run);
  await cloister.close();
  await Promise.all(observing);
  expect(events).toHaveLength(2 * recorded.length);
  for (const event of recorded)
    expect(events.filter((one) => 'id' in one && one.id === event.id)).toEqual([event, event]);
});

test('what could not be written is never told', async () => {
  const { cloister, fail } = open();
  const session = cloister.run('lead', 'Go.');
  const events: RunEvent[] = [];
  const reading = (async () => {
    for await (const event of session) events.push(event);
  })();
  await settled();
  fail();
  await expect(reading).rejects.toMatchObject({ code: 'store_failed' });
  expect(events.filter((event) => 'id' in event)).toEqual([]);
  await expect(session.durable()).rejects.toMatchObject({ code: 'store_failed' });
});

// invariant: receipt-after-commit
test('a caller learns the id of a run, and of a message, only when they are on disk', async () => {
  const { cloister, service, commit } = openService();
  let told: string | null = null;
  const started = service
    .startRun(ann, { agent: 'lead', input: 'Go.', resident: true })
    .then(({ run }) => (told = run));
  await settled();
  expect(told).toBeNull();
  commit();
  await started;
  expect((await cloister.runs()).map(({ run }) => run)).toEqual([told]);
});

// invariant: receipt-after-commit
test('a run that could not begin, because the disk was full by then, has no receipt', async () => {
  const { cloister, service, fill, commit } = openService();
  fill();
  commit();
  const refused = { code: 'store_failed' };
  await expect(service.startRun(ann, { agent: 'lead', input: 'Go.' })).rejects.toMatchObject(refused);
  await expect(service.startRun(ann, { agent: 'lead', input: 'Go.', key: 'k1' })).rejects.toMatchObject(refused);
  await expect(cloister.run('lead', 'Go.').durable()).rejects.toMatchObject(refused);
  expect([await cloister.runs(), service.running]).toEqual([[], 0]);
});

const ann = { name: 'ann' };

const openService = () => {
  const opened = open();
  const { cloister, clock } = opened;
  const service = new LocalAgentService({
    cloister,
    agents: ['lead'],
    tokens: new TokenRegistry([{ name: 'ann', sha256: 'a'.repeat(64) }], () => clock.now()),
    slots: new SlotQueue(slotLimitsFor({}, 1)),
    clients: { system: false, tools: false, activity: false, compat: false },
    clock,
  });
  return { ...opened, service };
};

const idleResident = async () => {
  const opened = open();
  const session = await opened.cloister.spawn('lead', { message: 'Go.' });
  const isIdle = (): boolean => session.agents().some(({ status }) => status === 'waiting');
  await settled();
  opened.commit();
  while (!isIdle()) await settled();
  opened.hold();
  return { ...opened, session };
};

// invariant: failed-log-ends-run
test('a run whose agents wait for messages ends when its records cannot be written, so that it can be resumed', async () => {
  const { session, fail } = await idleResident();
  fail();
  await expect(session.outcome).rejects.toMatchObject({ code: 'store_failed' });
});

test('what was written of a run can be read although the rest could not be', async () => {
  const { session, cloister, fail } = await idleResident();
  fail();
  const { events } = await cloister.show(session.run);
  expect(events.length).toBeGreaterThan(0);
});
