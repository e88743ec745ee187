import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister, openServer } from 'cloister';
import type { Cloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { serveAgents } from '../../headends/http/driver.ts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { scriptAgents } from '../../headends/client-tools/scripted-agents.ts';
import { serveTools } from './client-driver.ts';
import { gatedAgent } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const yesAgent = () =>
  defineAgent({ name: 'nod', description: 'd', prompt: 'p', models: [rehearse([{ reply: 'Yes.' }])] });
const states = async (cloister: Cloister): Promise<readonly string[]> =>
  (await cloister.runs()).map(({ state, status }) => `${state} ${status}`);

describe('a server that is stopped', () => {
  test('finishes what is running, turns away what is queued, and accepts nothing new', async () => {
    const { agent, gate } = gatedAgent();
    const { server, token, url, ask, cloister } = await serveAgents({ agents: [agent], slots: { running: 2 } });
    const pending = [ask('/v1/gated', { json: { input: 'One.' } }), ask('/v1/gated?q=Two.', { headers: eventsOnly })];
    await gate.arrived(2);
    const inLine = server.fetch(postRequest('/v1/gated', token, { input: 'Three.' }));
    await turn();

    const stopped = server.stop();
    expect((await inLine).status).toBe(503);
    const health = await server.fetch(getRequest('/health', ''));
    expect([health.status, await health.json()]).toEqual([503, { status: 'stopping' }]);
    const late = await server.fetch(postRequest('/v1/gated', token, { input: 'Four.' }));
    expect([late.status, late.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await late.json()).toMatchObject({ error: { code: 'server_stopping' } });
    expect((await fetch(`${url}/health`)).status).toBe(503);

    gate.open();
    const [whole, streamed] = await Promise.all(pending);
    expect(await whole!.json()).toMatchObject({ status: 'completed', output: 'Done: One.' });
    expect(await streamed!.text()).toContain('"output":"Done: Two."');
    expect(await stopped).toEqual([]);
    expect(gate.goals.toSorted()).toEqual(['One.', 'Two.']);
    expect(await states(cloister)).toEqual(['ended completed', 'ended completed']);
    expect(await server.stop()).toEqual([]);
    expect(await server.stop(0)).toEqual([]);
  });

  test('waits for a run that has a slot and is about to begin, and asks it to finish if it is a resident', async () => {
    await using cloister = await openCloister({ agents: [yesAgent()], store: 'memory' });
    for (const body of [{ conversation: 'c' }, { conversation: 'd', resident: true, wait: false }]) {
      const door = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const server = await openServer(withSlowStart(cloister, reached.resolve, door.promise));
      const pending = server.fetch(postRequest('/v1/nod', server.token!, { input: 'Go.', ...body }));
      await reached.promise;
      let over = false;
      const stopped = server.stop().finally(() => (over = true));
      for (let count = 0; count < 20; count++) await turn();
      expect(over).toBe(false);
      door.resolve();
      expect(await stopped).toEqual([]);
      expect(new Set(await states(cloister))).toEqual(new Set(['ended completed']));
      expect((await pending).ok).toBe(true);
    }
  });

  test('asks residents to finish, even when one has just been cancelled', async () => {
    await using folder = await temporaryFolder();
    const { server, token, cloister, close } = await serveAgents({ agents: [yesAgent()], workspace: folder.path });
    const spawned = async (): Promise<string> => {
      const response = await server.fetch(postRequest('/v1/nod', token, { input: 'Go.', resident: true }));
      return ((await response.json()) as { run: string }).run;
    };
    const [, cancelled] = [await spawned(), await spawned()];
    expect((await server.fetch(postRequest(`/v1/runs/${cancelled}/cancel`, token, {}))).status).toBe(202);
    // The run's end is not on disk yet.
    expect(await server.stop()).toEqual([]);
    expect((await states(cloister)).toSorted()).toEqual(['ended cancelled', 'ended completed']);
    await close();
  });

  test('abandons what is not done in time: its client is told so, and by disconnecting does not cancel the run', async () => {
    const { agent, gate } = gatedAgent();
    const { server, token, cloister } = await serveAgents({ agents: [agent] });
    const controller = new AbortController();
    const pending = server.fetch(postRequest('/v1/gated', token, { input: 'Go.' }, controller.signal));
    await gate.arrived(1);
    const left = await server.stop(0);
    expect(left).toHaveLength(1);
    controller.abort();
    await turn();
    expect(gate.waiting).toBe(1);
    gate.open();
    const response = await pending;
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { code: 'server_stopping', message: expect.stringContaining(`Run ${left[0]} was not finished`) } },
    ]);
    while ((await states(cloister))[0] === 'running null') await turn();
    expect(await states(cloister)).toEqual(['ended completed']);
  });

  test('leaves runs whose client has tools to be resumed, too, and tells the client', async () => {
    const [reached, held] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const execute = (): Promise<string> => {
      reached.resolve();
      return held.promise;
    };
    const { server, cloister, ask } = await serveTools({ agents: scriptAgents({ execute }).agents });
    const pending = ask('own:x');
    const plain = server.fetch(postRequest('/v1/guide', 'me', { input: 'own:y', wait: false }));
    await reached.promise;
    const { run } = (await (await plain).json()) as { run: string };
    expect(await server.stop(0)).toEqual(expect.arrayContaining([run]));
    expect((await pending).error).toMatchObject({ code: 'server_stopping' });
    expect(await states(cloister)).toEqual(['running null', 'running null']);
    held.resolve('done');
  });

  test('that is stopped again immediately names what the first stop has not waited for', async () => {
    const { agent, gate } = gatedAgent();
    const { server, token, cloister } = await serveAgents({ agents: [agent] });
    const started = await server.fetch(postRequest('/v1/gated', token, { input: 'Go.', wait: false }));
    const { run } = (await started.json()) as { run: string };
    await gate.arrived(1);
    const first = server.stop();
    expect(await server.stop(0)).toEqual([run]);
    gate.open();
    expect(await first).toEqual([]);
    expect(await states(cloister)).toEqual(['ended completed']);
  });

  test('leaves runs that another process has resumed', async () => {
    await using folder = await temporaryFolder();
    const script = fileURLToPath(new URL('stopped-server.ts', import.meta.url));
    const child = spawn(process.execPath, ['--conditions=cloister-source', script, folder.path], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => child.on('close', resolve));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const line = async <T>(): Promise<T> => JSON.parse((await lines.next()).value as string) as T;
    const { url, token } = await line<{ url: string; token: string }>();
    const answer = fetch(`${url}/v1/gated`, postRequest('/', token, { input: 'Go.' })).then(
      ({ status }) => status,
      () => 'cut',
    );
    expect(await line()).toBe('arrived');
    child.stdin.write('stop\n');
    const { left } = await line<{ left: readonly string[] }>();
    expect(left).toHaveLength(1);
    await ended;
    // The server is stopped without a grace period, so it may or may not get to answer.
    expect([503, 'cut']).toContain(await answer);

    const { agent, gate } = gatedAgent();
    gate.open();
    await using cloister = await openCloister({ agents: [agent], workspace: folder.path });
    expect(await cloister.runs()).toMatchObject([{ run: left[0], state: 'interrupted' }]);
    const session = await cloister.resume(left[0]!);
    expect(await session.outcome).toMatchObject({ status: 'completed', output: 'Done: Go.' });
  });
});

const eventsOnly = { accept: 'text/event-stream' };

/** The same Cloister, whose conversations take a while to open. */
const withSlowStart = (cloister: Cloister, reached: () => void, door: Promise<void>): Cloister =>
  new Proxy(cloister, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const bound = value.bind(target) as (...args: unknown[]) => unknown;
      if (name !== 'runTurn' && name !== 'spawn') return bound;
      return async (...args: unknown[]) => {
        reached();
        await door;
        return bound(...args);
      };
    },
  });
