// Runs that outlive the request that started them: they continue, and each caller has only so many.
// invariant: service-request-in-budget
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#base';
import { hashToken } from 'cloister';
import type { ServerOptions, TokenEntry } from 'cloister';
import { serveAgents } from '../../headends/http/driver.ts';
import { gatedAgent } from './gated-agent.ts';
import { getRequest, postRequest } from './local-requests.ts';

const caller = (name: string, more: Partial<TokenEntry> = {}): TokenEntry => ({
  name,
  sha256: hashToken(name),
  ...more,
});

type Refusal = { readonly code: string; readonly message: string; readonly retryAfterMs: number };

const serve = async (tokens: readonly TokenEntry[], slots: ServerOptions['slots'] = {}) => {
  const { agent, gate } = gatedAgent();
  const served = await serveAgents({ agents: [agent], tokens, slots });
  const { server } = served;
  const post = async (token: string, path: string, body: object, signal?: AbortSignal) => {
    const response = await server.fetch(postRequest(path, token, body, signal));
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  const detach = (token: string, input = 'Go.', signal?: AbortSignal) =>
    post(token, '/v1/gated', { input, wait: false }, signal);
  const show = async (token: string, run: string) =>
    (await (await server.fetch(getRequest(`/v1/runs/${run}`, token))).json()) as JsonObject;
  return { ...served, gate, post, detach, show };
};

/** Starts runs until one is refused. */
const fill = async ({ detach }: Awaited<ReturnType<typeof serve>>, token: string) => {
  const runs: string[] = [];
  for (;;) {
    const { status, body } = await detach(token);
    if (status !== 202) return { runs, status, error: body['error'] as unknown as Refusal };
    runs.push(body['run'] as string);
    if (runs.length > 40) throw new Error('Nothing was refused.');
  }
};

test('a detached run ends although its client has gone and nobody reads it', async () => {
  const { detach, show, gate, cloister } = await serve([caller('ana')]);
  const client = new AbortController();
  const { body } = await detach('ana', 'Go.', client.signal);
  client.abort();
  await gate.arrived(1);
  gate.open();
  const run = body['run'] as string;
  await expect.poll(async () => (await cloister.runs({ run }))[0]?.state).toBe('ended');
  expect(await show('ana', run)).toMatchObject({ status: 'completed', output: 'Done: Go.' });
});

describe('a caller has as many detached runs at once', () => {
  test.each([
    ['as its token says', { running: 2 }, {}, 2],
    ['as the server says, if its token says nothing', {}, { runningPerCaller: 3 }, 3],
    ['as its token says, whatever the server says for the others', { running: 2 }, { runningPerCaller: 5 }, 2],
    ['as half of the slots, if there are several callers and nobody says anything', {}, { running: 8 }, 4],
  ] as const)('%s', async (_what, token, slots, most) => {
    const served = await serve([caller('ana', token), caller('bob', { running: 1 })], { ...slots, waiting: 0 });
    const { runs, status, error } = await fill(served, 'ana');
    expect([runs.length, status, error.code]).toEqual([most, 429, 'server_busy']);
    expect(error.message).toContain(`You may have ${most} runs at a time, and they are running`);
    expect(error.message).toContain('cancel one');
    expect(error.retryAfterMs).toBeGreaterThan(0);
    // Nobody else is affected, or told.
    const other = await fill(served, 'bob');
    expect(other.runs).toHaveLength(1);
    expect(other.error.message).toContain('You may have 1 run at a time, and it is running');
    expect((await served.post('ana', `/v1/runs/${runs[0]!}/cancel`, {})).status).toBe(202);
    await expect.poll(() => served.server.running).toBe(most);
    expect((await served.detach('ana')).status).toBe(202);
  });

  test('one more waits in the queue, and is never started if its client leaves', async () => {
    const served = await serve([caller('ana', { running: 1 })], { waiting: 1 });
    const { detach, gate, cloister } = served;
    expect((await detach('ana', 'First.')).status).toBe(202);
    const client = new AbortController();
    const second = detach('ana', 'Second.', client.signal);
    expect((await detach('ana', 'Third.')).body['error']).toMatchObject({ code: 'server_busy' });
    client.abort();
    expect((await second).status).toBe(499);
    const fourth = detach('ana', 'Fourth.');
    await gate.arrived(1);
    gate.open();
    expect((await fourth).status).toBe(202);
    expect((await cloister.runs()).map(({ goal }) => goal).sort()).toEqual(['First.', 'Fourth.']);
  });

  test('a caller is not told of a limit of its own when others fill the server', async () => {
    const served = await serve([caller('ana'), caller('bob', { running: 2 })], { running: 2, waiting: 0 });
    expect((await fill(served, 'bob')).runs).toHaveLength(2);
    const { status, body } = await served.detach('ana');
    expect([status, (body['error'] as unknown as Refusal).message]).toEqual([429, 'The server is at capacity.']);
  });
});
