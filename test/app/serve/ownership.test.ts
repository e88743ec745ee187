import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister, hashToken } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { LocalAgentService } from '../../../src/app/serve/local-agent-service.ts';
import { SlotQueue } from '../../../src/app/serve/slot-queue.ts';
import { TokenRegistry } from '../../../src/app/serve/token-registry.ts';
import { systemClock } from '../../../src/app/system-world.ts';
import { serveAgents } from '../../headends/http/driver.ts';
import { probes } from './crowd-probes.ts';
import { gatedAgent } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const tokens = ['ann', 'ben'].map((name) => ({ name, sha256: hashToken(name) }));

/** The whole response, except for the request id and the requested id. */
const responseText = async (response: Response, run: string): Promise<string> => {
  const headers = [...response.headers].filter(([name]) => !name.endsWith('request-id'));
  const body = (await response.text()).replaceAll(/req_[\da-f]+/gu, '');
  return JSON.stringify([response.status, headers, body]).replaceAll(run, '<run>');
};

const serveBoth = async () => {
  const { agent, gate } = gatedAgent('echo');
  return { ...(await serveAgents({ agents: [agent], tokens })), gate };
};

describe('another caller’s run', () => {
  // invariants: service-others-unknown, run-belongs-to-caller
  test.each(probes)('running or ended, is as unknown as one that never existed: $name', async (probe) => {
    const { server, url, gate } = await serveBoth();
    const requests = [
      server.fetch(postRequest('/v1/echo', 'ann', { input: 'Go.' })),
      server.fetch(postRequest('/v1/echo', 'ann', { input: 'Live.', resident: true, wait: false })),
    ];
    await gate.arrived(2);
    const listed = (await (await server.fetch(getRequest('/v1/runs', 'ann'))).json()) as { runs: { run: string }[] };
    expect(listed.runs).toHaveLength(2);
    const never = 'ffffffffffff';
    const unknown = await responseText(await server.fetch(probe.request(url, 'ben', never)), never);
    const probeAll = async (): Promise<void> => {
      for (const { run } of listed.runs)
        expect(await responseText(await server.fetch(probe.request(url, 'ben', run)), run)).toBe(unknown);
    };
    await probeAll();
    expect(gate.waiting).toBe(2);
    gate.open();
    const [answer] = await Promise.all(requests);
    expect(await answer!.json()).toMatchObject({ status: 'completed', output: 'Done: Go.' });
    await probeAll();
    expect(await (await server.fetch(getRequest('/v1/runs', 'ben'))).json()).toEqual({
      runs: [],
      more: false,
      next: null,
    });
    const own = await server.fetch(postRequest(`/v1/runs/${listed.runs[0]!.run}/finish`, 'ann', {}));
    expect([202, 409]).toContain(own.status);
  });

  test('is not reached by an id that looks like a path, an object property or another spelling', async () => {
    const { server, gate } = await serveBoth();
    gate.open();
    await server.fetch(postRequest('/v1/echo', 'ann', { input: 'Go.' }));
    const [{ run }] = (
      (await (await server.fetch(getRequest('/v1/runs', 'ann'))).json()) as { runs: [{ run: string }] }
    ).runs;
    for (const id of [
      '..%2F',
      '%00',
      '__proto__',
      'constructor',
      `${run}%20`,
      run.toUpperCase(),
      `%2e%2e%2f${run}`,
      '*',
      '%25',
    ])
      expect((await server.fetch(getRequest(`/v1/runs/${id}`, 'ben'))).status).toBe(404);
  });

  test('is revealed neither by its log nor by its conversation', async () => {
    const language = rehearse([{ reply: ({ messages }) => JSON.stringify(messages) }]);
    const agent = defineAgent({ name: 'echo', description: 'd', prompt: 'p', models: [language] });
    const { server, cloister } = await serveAgents({ agents: [agent], tokens });
    const talk = async (token: string, input: string): Promise<string> =>
      (await server.fetch(postRequest('/v1/echo', token, { input, conversation: 'main' }))).text();
    await talk('ann', 'The word is plum.');
    expect(await talk('ben', 'Which word?')).not.toContain('plum');
    expect(await talk('ann', 'Which word?')).toContain('plum');
    // A name cannot lead out of its owner's namespace.
    for (const conversation of ['ann/main', '../ann/main', '/ann/main'])
      expect(
        await (await server.fetch(postRequest('/v1/echo', 'ben', { input: 'Which word?', conversation }))).text(),
      ).not.toContain('plum');
    const names = (await cloister.conversations.list()).map(({ name }) => name);
    expect(names.toSorted()).toEqual(['ann/main', 'ben/../ann/main', 'ben//ann/main', 'ben/ann/main', 'ben/main']);
  });
});

describe('a call of a client’s tool', () => {
  // invariant: client-calls-own-only
  test('is known only to the caller whose run waits for it', async () => {
    const language = rehearse([
      { when: { turn: 1 }, reply: { calls: [{ tool: 'weather', args: { town: 'Bonn' } }] } },
      { reply: ({ toolResults }) => `It is ${toolResults[0]?.text ?? 'unknown'}.` },
    ]);
    const agent = defineAgent({ name: 'lead', description: 'd', prompt: 'p', models: [language] });
    await using cloister = await openCloister({ agents: [agent], store: 'memory' });
    const now = Date.now;
    const service = new LocalAgentService({
      cloister,
      agents: ['lead'],
      tokens: new TokenRegistry(tokens, now),
      slots: new SlotQueue({ running: 16, runningPerAgent: 16, waiting: 64 }),
      clients: { system: false, tools: true, activity: false, compat: false },
      clock: systemClock,
    });
    const [ann, ben] = [{ name: 'ann' }, { name: 'ben' }];
    const weather = { name: 'weather', description: 'Tells.', inputSchema: { type: 'object' } };
    const requests = { agent: 'lead', input: 'Go.', tools: [weather] };
    const waiting = [await service.startRun(ann, requests), await service.startRun(ben, requests)];
    const [anns, bens] = await Promise.all(waiting.map(async (run) => (await run.pause!())!.calls[0]!.id));
    const wordsFor = async (caller: { readonly name: string }, calls: readonly string[]): Promise<string> => {
      try {
        const results = calls.map((call) => ({ call, text: 'stolen', failed: false }));
        return (await service.continueRun(caller, { results, messages: [] })) === null ? 'nobody waits' : 'taken';
      } catch (error) {
        return calls.reduce((words, call) => words.replaceAll(call, '<call>'), (error as Error).message);
      }
    };
    const nowhere = anns!.replace(waiting[0]!.run, 'no-such-run');
    expect(await wordsFor(ben, ['call_ffff'])).toBe('nobody waits');
    expect([await wordsFor(ben, [anns!]), await wordsFor(ben, [nowhere])]).toEqual(['nobody waits', 'nobody waits']);
    // A caller's own result cannot carry another caller's along; neither is accepted.
    expect(await wordsFor(ben, [bens!, anns!])).toBe(await wordsFor(ben, [bens!, nowhere]));
    expect(await wordsFor(ben, [bens!, anns!])).toContain('several responses');
    const results = [
      service.continueRun(ann, { results: [{ call: anns!, text: 'sunny', failed: false }], messages: [] }),
      service.continueRun(ben, { results: [{ call: bens!, text: 'rainy', failed: false }], messages: [] }),
    ];
    const outputs = await Promise.all(results.map(async (run) => (await (await run)!.outcome).output));
    expect(outputs).toEqual(['It is sunny.', 'It is rainy.']);
  });
});
