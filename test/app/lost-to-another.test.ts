// A process whose run another one has taken over: it hears of it at once, stops paying, and leaves the run to the other.
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import { memoryStore } from '#adapters/stores';
import { CloisterError, recordFormats, Semaphore, sha256 } from '#base';
import type { Store } from '#contracts';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import { countingIds, rehearse, virtualClock } from '#testkit';
import { LocalCloister } from '../../src/app/local-cloister.ts';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { gatedAgent } from './serve/gated-agent.ts';

const workspaceFor = (): string => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  return workspace;
};

const open = async (workspace: string, agent: Agent): Promise<Cloister> => {
  const cloister = await openCloister({ workspace, agents: [agent] });
  onTestFinished(() => cloister.close());
  return cloister;
};

/** Makes the owners look like processes on another machine, so that their runs can be taken over. */
const moveOwners = (workspace: string): void => {
  using database = new DatabaseSync(join(workspace, 'cloister.db'));
  database.exec("UPDATE owners SET host = 'elsewhere'");
};

const ownersOf = (workspace: string): readonly unknown[] => {
  using database = new DatabaseSync(join(workspace, 'cloister.db'), { readOnly: true });
  return database.prepare('SELECT run, instance FROM owners').all();
};

/** Two on one workspace; the second has taken over the run of the first, in the middle of its model request. */
const takeOver = async () => {
  const workspace = workspaceFor();
  const [first, second] = [gatedAgent(), gatedAgent()];
  const [old, other] = [await open(workspace, first.agent), await open(workspace, second.agent)];
  const session = old.run('gated', 'Go.');
  await first.gate.arrived(1);
  await session.durable();
  moveOwners(workspace);
  const resumed = await other.resume(session.run, { takeOver: true });
  await second.gate.arrived(1);
  await resumed.durable();
  return { workspace, old, other, session, resumed, gates: [first.gate, second.gate] as const };
};

test('a process that lost its run in the middle of a model request stops it at once, and the other continues it', async () => {
  const { workspace, old, session, resumed, gates } = await takeOver();
  const owners = ownersOf(workspace);
  // Nothing was recorded, so no record was refused.
  await expect(session.outcome).rejects.toMatchObject({
    code: 'run_lost',
    message: expect.stringMatching(
      /^Another process has taken this run over\. The owner of run \S+ is process \d+ on /u,
    ),
  });
  expect(gates[0].waiting).toBe(0);
  await expect(session.durable()).rejects.toMatchObject({ code: 'run_lost' });
  expect(() => session.send('Hi.')).toThrow('has ended');
  expect(ownersOf(workspace)).toEqual(owners);
  expect((await old.runs())[0]).toMatchObject({ run: session.run, state: 'running' });
  gates[1].open();
  expect(await resumed.outcome).toMatchObject({ status: 'completed', output: 'Done: Go.' });
  // Whoever lost it can still read it.
  expect((await old.runs())[0]).toMatchObject({ run: session.run, state: 'ended', status: 'completed' });
  expect(await old.audit(session.run)).toMatchObject({ ok: true, problems: [] });
  expect(gates[0].goals).toHaveLength(1);
});

test('readers of a run that was lost are told so, and see what was recorded', async () => {
  const { session, gates } = await takeOver();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { type } of session) seen.push(type);
  })();
  await expect(reading).rejects.toMatchObject({ code: 'run_lost' });
  expect(seen.length).toBeGreaterThan(0);
  expect(gates[0].waiting).toBe(0);
});

test('a tool of a run that was lost is stopped, and what it returns goes nowhere', async () => {
  const workspace = workspaceFor();
  const [entered, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const agent = (isFirst: boolean): Agent =>
    defineAgent({
      name: 'lead',
      description: 'Sends.',
      prompt: 'Send.',
      models: [rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'send' }] } }, { reply: 'Done.' }])],
      tools: [
        {
          name: 'send',
          description: 'Sends.',
          inputSchema: { type: 'object' },
          repeat: 'keyed',
          execute: async (_args, { signal }) => {
            if (!isFirst) return 'Sent by the other.';
            entered.resolve();
            signal.addEventListener('abort', () => aborted.resolve());
            await aborted.promise;
            return 'Sent by the first.';
          },
        },
      ],
    });
  const old = await open(workspace, agent(true));
  const session = old.run('lead', 'Go.');
  await entered.promise;
  await session.durable();
  moveOwners(workspace);
  const resumed = await (await open(workspace, agent(false))).resume(session.run, { takeOver: true });
  await aborted.promise;
  await expect(session.outcome).rejects.toMatchObject({ code: 'run_lost' });
  expect(await resumed.outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(JSON.stringify(await old.show(session.run))).not.toContain('by the first');
  expect(await old.audit(session.run)).toMatchObject({ ok: true, problems: [] });
});

test('a run that only waits for messages ends too where it was lost, and its messages go to the new owner', async () => {
  const workspace = workspaceFor();
  const clerk = (): Agent =>
    defineAgent({ name: 'clerk', description: 'Notes.', prompt: 'Note.', models: [rehearse([{ reply: 'Noted.' }])] });
  const [old, other] = [await open(workspace, clerk()), await open(workspace, clerk())];
  const session = await old.spawn('clerk');
  await session.durable();
  moveOwners(workspace);
  const resumed = await other.resume(session.run, { takeOver: true });
  await expect(session.outcome).rejects.toMatchObject({ code: 'run_lost' });
  const { id } = await old.signal(session.run, { do: 'send', text: 'Hello.' });
  await old.signal(session.run, { do: 'finish' });
  expect(await resumed.outcome).toMatchObject({ status: 'completed' });
  expect((await old.mail(session.run)).map((message) => message.id)).toContain(id);
  expect(await old.audit(session.run)).toMatchObject({ ok: true, problems: [] });
});

test('a step that waited for a slot longer than its run stayed here does not start, and gives the slot back', async () => {
  const clock = virtualClock();
  const models = [
    rehearse([{ reply: { text: 'Done.', delayMs: 1000 } }], { clock }),
    rehearse([{ reply: 'Never.' }]),
    rehearse([{ reply: 'Later.' }]),
  ];
  const agents = models.map((model, nth) =>
    defineAgent({
      name: `a${nth}`,
      description: 'Works.',
      prompt: 'Work.',
      models: [model],
      limits: { maxRetries: 0 },
    }),
  );
  const inner = memoryStore();
  let isLost = false;
  const store: Store = {
    ...inner,
    acquireRun: async (run) => {
      const log = await inner.acquireRun(run);
      const isSecond = (await inner.list()).length === 1;
      let fail: (error: CloisterError) => void = () => undefined;
      const lose = (): Promise<void> => {
        const error = new CloisterError('run_lost', 'Taken.');
        fail(error);
        return Promise.reject(error);
      };
      return {
        append: (frame) => log.append(frame),
        durable: () => undefined,
        stillOwned: () => (isSecond && isLost ? lose() : undefined),
        onFailure: (listener) => void (fail = listener),
        close: () => log.close(),
      };
    },
  };
  const cloister = new LocalCloister(agents, {
    store,
    workspaces: memoryCellFolders(),
    validate,
    schemaProblem: () => null,
    toolSchemaProblem: () => null,
    clock,
    ids: countingIds(),
    lanes: new Map([['models', new Semaphore(1)]]),
    resources: {
      agents,
      redactFor: () => null,
      prepare: async () => undefined,
      resourcesFor: ({ name }) => ({ models: [models[Number(name.slice(1))]!.model], sources: [] }),
      modelsOf: ({ name }) => [models[Number(name.slice(1))]!.model],
    },
    startInfo: undefined,
    recordedBy: { format: recordFormats.newest, build: 'test' },
  });
  onTestFinished(() => cloister.close());
  const first = cloister.run('a0', 'Go.');
  await clock.advance(1);
  const second = cloister.run('a1', 'Go.');
  await clock.advance(1);
  const third = cloister.run('a2', 'Go.');
  await clock.advance(1);
  isLost = true;
  await clock.advance(1000);
  expect(await first.outcome).toMatchObject({ status: 'completed' });
  await expect(second.outcome).rejects.toMatchObject({ code: 'run_lost' });
  expect(await third.outcome).toMatchObject({ status: 'completed', output: 'Later.' });
  expect(models[1]!.requests).toEqual([]);
});

const ann = 'ann'.padEnd(40, 'x');

test('a server that lost a run says so to whoever waits for its answer, and goes on answering for it', async () => {
  const workspace = workspaceFor();
  const [first, second] = [gatedAgent(), gatedAgent()];
  const old = await open(workspace, first.agent);
  const server = await openServer(old, { tokens: [{ name: 'ann', sha256: sha256(ann) }], port: 0 });
  const { url } = await server.listen();
  onTestFinished(async () => void (await server.stop(0)));
  const headers = { authorization: `Bearer ${ann}`, 'content-type': 'application/json', 'idempotency-key': 'k1' };
  const post = (): Promise<Response> =>
    fetch(`${url}/v1/gated`, { method: 'POST', headers, body: JSON.stringify({ input: 'Go.' }) });
  const get = async (path: string): Promise<any> => (await fetch(url + path, { headers })).json();
  const answer = post();
  await first.gate.arrived(1);
  const { run } = (await old.runs())[0]!;
  moveOwners(workspace);
  const other = await open(workspace, second.agent);
  const resumed = await other.resume(run, { takeOver: true });
  const response = await answer;
  expect([response.status, await response.json()]).toMatchObject([
    409,
    // Not by whom: that is nobody's business outside.
    { error: { code: 'run_lost', message: 'Another process has taken this run over.' } },
  ]);
  expect(await get(`/v1/runs/${run}`)).toMatchObject({ run, status: 'running' });
  second.gate.open();
  await resumed.outcome;
  expect(await get(`/v1/runs/${run}`)).toMatchObject({ run, status: 'completed', output: 'Done: Go.' });
  // The same request again finds the run, which the other process has ended.
  expect(await (await post()).json()).toMatchObject({ run, status: 'completed', output: 'Done: Go.' });
  expect(first.gate.goals).toHaveLength(1);
});
