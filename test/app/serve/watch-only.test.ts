// Tokens that may only watch: they read runs, and change nothing, whatever they call.
// invariants: watcher-only-reads, run-belongs-to-caller
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import { defineAgent, hashToken, openCloister } from 'cloister';
import type { TokenEntry } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { AgentService, Caller, RunCommand, RunCommandName } from '#contracts';
import { checkTokenEntries } from '../../../src/app/serve/check-server-setup.ts';
import { LocalAgentService } from '../../../src/app/serve/local-agent-service.ts';
import { SlotQueue, slotLimitsFor } from '../../../src/app/serve/slot-queue.ts';
import { TokenRegistry } from '../../../src/app/serve/token-registry.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { serveAgents } from '../../headends/http/driver.ts';
import { kinds } from '../../isolation/serve-acts.ts';
import { eventReader, initialize } from '../../headends/mcp/messages.ts';
import { buildProtocolRequest, toolCall } from './crowd-requests.ts';
import { gatedAgent } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const entry = (name: string, token: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(token),
  ...more,
});

const tokens: readonly TokenEntry[] = [
  entry('ann', 'ann'),
  entry('ben', 'ben'),
  entry('ann', 'glass', { may: ['watch'], sees: 'contents' }),
  entry('board', 'board', { may: ['watch'], operator: true }),
];

const code = async (call: () => unknown): Promise<unknown> => {
  try {
    return await call();
  } catch (error) {
    return error instanceof CloisterError ? error.code : error;
  }
};

/** A new command does not compile before it is in this table. */
const commands: { readonly [K in RunCommandName]: RunCommand<K> } = {
  'add-context': { do: 'add-context', text: 'More.' },
  'refresh-share': { do: 'refresh-share', child: 'x' },
  send: { do: 'send', text: 'Hello.' },
  route: { do: 'route', from: 'x', to: ['y'] },
  'forward-topic': { do: 'forward-topic', topic: 'news' },
  confirm: { do: 'confirm', message: 'm-1' },
  spawn: { do: 'spawn', agent: 'scout' },
  'add-tasks': { do: 'add-tasks', tasks: [] },
  finish: { do: 'finish' },
  cancel: { do: 'cancel' },
  'add-tools': { do: 'add-tools', tools: [], timeoutMs: 1 },
  answer: { do: 'answer', frame: 3, by: 'glass', right: 'caller', id: 'a-1', allow: true, sha256: '' },
};

test('of the service, a watcher gets what reads, and nothing that acts', async () => {
  const { agent, gate } = gatedAgent('echo');
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const registry = new TokenRegistry(tokens, Date.now);
  const service = new LocalAgentService({
    cloister,
    agents: ['echo'],
    tokens: registry,
    slots: new SlotQueue(slotLimitsFor({}, 1)),
    clients: { system: false, tools: true, activity: false, compat: false },
    clock: systemClock,
  });
  const served = await service.startRun(registry.findCaller('ann')!, { agent: 'echo', input: 'Go.', resident: true });
  await gate.arrived(1);
  const call = { call: 'call_0', text: '', failed: false };
  // A new method does not compile before it is in this table.
  const acts: Readonly<Record<keyof AgentService, readonly [(caller: Caller) => unknown, unknown]>> = {
    clients: [() => 'rules', 'rules'],
    questions: [() => 'see questions.test.ts', 'see questions.test.ts'],
    accounts: [async (caller) => (await service.accounts.own(caller)).watchOnly, true],
    checkpoints: [() => 'see caller-checkpoints.test.ts', 'see caller-checkpoints.test.ts'],
    agents: [(caller) => service.agents(caller), []],
    agent: [(caller) => service.agent(caller, 'echo'), 'watch_only'],
    topology: [async (caller) => (await service.topology(caller)).agents, []],
    template: [(caller) => service.template(caller, 'echo'), 'watch_only'],
    startRun: [(caller) => service.startRun(caller, { agent: 'echo', input: 'x' }), 'watch_only'],
    resumeRun: [(caller) => service.resumeRun(caller, served.run), 'watch_only'],
    retryRun: [(caller) => service.retryRun(caller, served.run), 'watch_only'],
    conversations: [() => 'see caller-conversations.test.ts', 'see caller-conversations.test.ts'],
    deadLetters: [async (caller) => (await service.deadLetters(caller, { runs: 9 })).read, 1],
    forkRun: [(caller) => service.forkRun(caller, served.run, { at: 'echo' }), 'watch_only'],
    continueRun: [(caller) => service.continueRun(caller, { results: [call], messages: [] }), 'watch_only'],
    storage: [(caller) => service.storage.delete(caller, served.run, {}), 'watch_only'],
    do: [(caller) => service.do(caller, served.run, commands.cancel), 'watch_only'],
    requestState: [(caller) => service.requestState(caller, served.run, 1), undefined],
    runs: [async (caller) => (await service.runs(caller, { most: 9 })).runs.map(({ run }) => run), [served.run]],
    find: [async (caller) => (await service.find(caller, served.run)).summary.state, 'running'],
  };
  for (const token of ['glass', 'board']) {
    const watcher = registry.findCaller(token)!;
    for (const [name, [act, expected]] of Object.entries(acts))
      expect([token, name, await code(() => act(watcher))]).toEqual([token, name, expected]);
    for (const command of Object.values(commands))
      expect(await code(() => service.do(watcher, served.run, command))).toBe('watch_only');
    // With a key, too.
    expect(await code(() => service.startRun(watcher, { agent: 'echo', input: 'x', key: 'k' }))).toBe('watch_only');
  }
  expect([gate.waiting, (await cloister.runs()).length]).toEqual([1, 1]);
  served.cancel();
  await served.outcome;
});

const serveAll = async () => {
  const { agent, gate } = gatedAgent('echo');
  const served = await serveAgents({ agents: [agent], tokens });
  const json = async (request: Request): Promise<unknown> => (await served.server.fetch(request)).json();
  return { ...served, gate, json };
};

describe('over HTTP, a token that may only watch', () => {
  test.each(kinds)('runs no agent: %s', async (kind) => {
    const { server, cloister, url } = await serveAll();
    for (const token of ['glass', 'board']) {
      const question = { url, token, kind, word: 'x', conversation: null, history: [] };
      const response = await server.fetch(buildProtocolRequest(question).request);
      const text = await response.text();
      if (kind === 'mcp') expect(text).toContain('this token may not run any agent');
      else expect([response.status, text]).toEqual([403, expect.stringContaining('may only watch')]);
    }
    expect(await cloister.runs()).toEqual([]);
  });

  test('is offered no agent in any protocol', async () => {
    const { json, server, url } = await serveAll();
    expect(await json(getRequest('/v1', 'glass'))).toMatchObject({ agents: [] });
    expect(await json(getRequest('/v1/models', 'glass'))).toMatchObject({ data: [] });
    expect((await server.fetch(getRequest('/v1/models/echo', 'glass'))).status).toBe(403);
    expect((await server.fetch(getRequest('/v1/echo?q=x', 'glass'))).status).toBe(403);
    const headers = {
      authorization: 'Bearer glass',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const listed = await server.fetch(
      new Request(`${url}/mcp`, { method: 'POST', headers, body: JSON.stringify(list) }),
    );
    expect(await listed.text()).toContain('"tools":[]');
  });

  test('sees the runs of its own name, or those of everybody for the operator', async () => {
    const { json, server, cloister, gate } = await serveAll();
    gate.open();
    for (const name of ['ann', 'ben']) await server.fetch(postRequest('/v1/echo', name, { input: `Of ${name}.` }));
    await cloister.run('echo', 'Of nobody.').outcome;
    const list = async (token: string) =>
      ((await json(getRequest('/v1/runs', token))) as { runs: { run: string; goal: string; caller?: string }[] }).runs;
    expect((await list('ann')).map(({ goal, caller }) => [goal, caller])).toEqual([['Of ann.', undefined]]);
    expect(await list('glass')).toEqual(await list('ann'));
    const all = await list('board');
    expect(new Set(all.map(({ goal, caller }) => `${goal} ${caller}`))).toEqual(
      new Set(['Of ann. ann', 'Of ben. ben', 'Of nobody. null']),
    );
    for (const { run, caller } of all)
      for (const path of ['', '/events', '/messages', '/transcript']) {
        const status = async (token: string) =>
          (await server.fetch(getRequest(`/v1/runs/${run}${path}`, token))).status;
        expect([path, await status('board')]).toEqual([path, 200]);
        expect([path, await status('glass')]).toEqual([path, caller === 'ann' ? 200 : 404]);
      }
  });

  test('stops, steers and resumes nothing, and is told why', async () => {
    const { json, server, gate } = await serveAll();
    const begun = { input: 'Live.', resident: true, wait: false };
    const { run } = (await json(postRequest('/v1/echo', 'ann', begun))) as { run: string };
    await gate.arrived(1);
    for (const token of ['glass', 'board']) {
      for (const [path, body] of [
        ['cancel', {}],
        ['finish', {}],
        ['resume', {}],
        ['messages', { text: 'Hello.' }],
        ['agents', { agent: 'echo' }],
      ] as const) {
        const refused = await server.fetch(postRequest(`/v1/runs/${run}/${path}`, token, body));
        expect([path, refused.status, await refused.json()]).toMatchObject([
          path,
          403,
          { error: { code: 'watch_only' } },
        ]);
      }
      const one = new Request(getRequest(`/v1/runs/${run}/agents/echo`, token), { method: 'DELETE' });
      expect((await server.fetch(one)).status).toBe(403);
    }
    expect(await json(getRequest(`/v1/runs/${run}`, 'ann'))).toMatchObject({ status: 'running' });
    expect((await server.fetch(postRequest(`/v1/runs/${run}/cancel`, 'ann', {}))).status).toBe(202);
  });

  test('takes no message from the caller that it is for', async () => {
    const reply = rehearse([{ reply: 'Answered.' }]);
    const echo = defineAgent({ name: 'echo', description: 'd', prompt: 'p', models: [reply] });
    const { server } = await serveAgents({ agents: [echo], tokens });
    type Messages = { messages: { by: string; message?: string; delivered?: boolean }[] };
    const messages = async (run: string, token: string, after = ''): Promise<Messages['messages']> =>
      ((await (await server.fetch(getRequest(`/v1/runs/${run}/messages${after}`, token))).json()) as Messages).messages;
    const begun = await server.fetch(postRequest('/v1/echo', 'ann', { input: 'Live.', resident: true, wait: false }));
    const { run } = (await begun.json()) as { run: string };
    const answer = async (token: string) => (await messages(run, token)).find(({ by }) => by === 'agent');
    await expect.poll(() => answer('ann')).toMatchObject({ delivered: false });
    const { message } = (await answer('ann'))!;
    const events = await server.fetch(getRequest(`/v1/runs/${run}/events`, 'glass'));
    const reader = events.body!.getReader();
    let seen = '';
    while (!seen.includes(`"${message}"`) || !seen.includes('Answered.'))
      seen += Buffer.from((await reader.read()).value ?? []).toString();
    // It asks for more, as a client does that has taken the message.
    void reader.read();
    expect(await messages(run, 'glass', `?after=${message}`)).toEqual([]);
    expect(await answer('ann')).toMatchObject({ delivered: false });
    await reader.cancel();
    expect(await messages(run, 'ann', `?after=${message}`)).toEqual([]);
    await expect.poll(() => answer('glass')).toMatchObject({ delivered: true });
  });

  test('is a caller of its own over MCP: no session and no call of the other one is its own', async () => {
    const { url, server, gate } = await serveAll();
    const stream = await fetch(`${url}/mcp/sse`, { headers: { authorization: 'Bearer ann' } });
    const events = eventReader(stream.body);
    const { data: path } = (await events.next())!;
    expect((await server.fetch(postRequest(path, 'glass', initialize()))).status).toBe(404);
    expect((await server.fetch(postRequest(path, 'ann', initialize()))).status).toBe(202);
    await events.cancel();
    const call = fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer ann',
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(toolCall('x')),
    });
    await gate.arrived(1);
    const { id } = toolCall('x') as { id: number };
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } };
    expect((await server.fetch(postRequest('/mcp', 'glass', cancelled))).status).toBe(202);
    gate.open();
    expect(await (await call).text()).toContain('Done: ');
  });
});

describe('an entry that may only watch', () => {
  const check =
    (...entries: readonly TokenEntry[]) =>
    () =>
      checkTokenEntries(entries, ['echo']);
  test('can have the name of another one, once', () => {
    expect(check(...tokens)).not.toThrow();
    expect(check(entry('ann', 'a'), entry('ann', 'b'))).toThrow(/"ann" is listed twice/u);
    const [one, other] = [entry('ann', 'a', { may: ['watch'] }), entry('ann', 'b', { may: ['watch'] })];
    expect(check(one, other)).toThrow(/"ann" is listed twice/u);
  });

  test.each([
    [{ may: [] }, /may: Name what the token may do/u],
    [{ may: ['watch', 'watch'] }, /may: Name what the token may do/u],
    [{ may: ['run'] }, /may\[0\]/u],
    [{ may: 'watch' }, /may/u],
    [{ may: ['watch'], agents: ['echo'] }, /agents: It has no effect/u],
    [{ may: ['watch'], budget: { tokens: 1 } }, /budget: It has no effect/u],
    [{ may: ['watch'], running: 1 }, /running: It has no effect/u],
  ] as const)('is refused at start if it makes no sense: %o', (more, problem) => {
    expect(check(entry('ann', 'a', more as never))).toThrow(problem);
  });

  test('has its own rate, and takes no slot from the others', async () => {
    const { agent } = gatedAgent('echo');
    const own = [
      entry('ann', 'ann', { requestsPerMinute: 2 }),
      entry('ann', 'glass', { may: ['watch'], requestsPerMinute: 1 }),
    ];
    const { server } = await serveAgents({ agents: [agent], tokens: own });
    const ask = async (token: string) => (await server.fetch(getRequest('/v1/runs', token))).status;
    expect([await ask('glass'), await ask('glass'), await ask('ann'), await ask('ann'), await ask('ann')]).toEqual([
      200, 429, 200, 200, 429,
    ]);
  });
});
