// Responses of runs whose client has tools can be read again by the caller they were made for, and by no other.
import { describe, expect, test } from 'vitest';
import { scriptAgents, time, weather } from '../../headends/client-tools/scripted-agents.ts';
import { RequestStates, RunRequestStates } from '../../../src/app/serve/request-states.ts';
import type { RunId } from '#base';
import type { RequestState } from '#contracts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { serveTools, turn } from './client-driver.ts';
import type { ServeToolsOptions } from './client-driver.ts';
import { getRequest } from './local-requests.ts';

type Item = { readonly type: string; readonly call_id?: string; readonly arguments?: string };
type Response = {
  readonly id: string;
  readonly status: string;
  readonly output: readonly Item[];
  readonly usage: object;
};

const tools = [weather, time].map(({ name, description, schema }) => ({
  type: 'function',
  name,
  description,
  parameters: schema,
  strict: false,
}));

const served = async (opening: Partial<ServeToolsOptions> = {}) => {
  const { send, server, cloister } = await serveTools({ agents: scriptAgents().agents, ...opening });
  const post = async (input: unknown, as = 'me'): Promise<Response> =>
    (await (await send('/v1/responses', { model: 'guide', input, tools }, { as })).json()) as Response;
  const results = ({ output }: Response) =>
    output.flatMap(({ call_id, arguments: args }) =>
      call_id === undefined ? [] : [{ type: 'function_call_output', call_id, output: `result of ${args}` }],
    );
  const read = async (id: string, as = 'me'): Promise<{ status: number; body: any }> => {
    const response = await server.fetch(getRequest(`/v1/responses/${id}`, as));
    return { status: response.status, body: await response.json() };
  };
  return { server, cloister, post, results, read };
};

/** The part that is the same in the original response and when it is read again. */
const stableFields = ({ id, status, output, usage }: Response): object => ({ id, status, output, usage });

describe('a response of a run whose client has tools', () => {
  test.each(['memory', 'disk'])(
    'can be read again as it was returned, during the run and after it (%s)',
    async (where) => {
      await using folder = await temporaryFolder();
      const { post, results, read } = await served(where === 'disk' ? { of: { workspace: folder.path } } : {});
      const given: Response[] = [await post('weather:a, time:b; own:c; weather:d')];
      for (let left = 4; results(given.at(-1)!).length > 0 && left > 0; left--) {
        for (const one of given) expect(stableFields((await read(one.id)).body)).toEqual(stableFields(one));
        given.push(await post(results(given.at(-1)!)));
      }
      expect(given).toHaveLength(3);
      expect(given.at(-1)!.output).toMatchObject([{ type: 'message' }]);
      for (const one of given) expect(stableFields((await read(one.id)).body)).toEqual(stableFields(one));
      const next = given.at(-1)!.id.replace(/_3$/u, '_4');
      expect(await read(next)).toMatchObject({ status: 404 });
    },
  );

  test('is in progress while the agent works on it', async () => {
    const gate = Promise.withResolvers<string>();
    const { post, results, read } = await served({ agents: scriptAgents({ execute: () => gate.promise }).agents });
    const first = await post('weather:a; own:b');
    const second = post(results(first));
    const id = first.id.replace(/_1$/u, '_2');
    await turn();
    expect((await read(id)).body).toMatchObject({ id, status: 'in_progress', output: [], usage: null });
    expect(stableFields((await read(first.id)).body)).toEqual(stableFields(first));
    gate.resolve('done');
    expect((await second).id).toBe(id);
    expect(stableFields((await read(id)).body)).toEqual(stableFields(await second));
  });

  test('has the calls that the run waits for, and the run can be continued with it', async () => {
    const { post, results, read } = await served();
    const { id } = await post('weather:a');
    const again = (await read(id)).body as Response;
    expect(again.output.at(-1)).toMatchObject({ type: 'function_call', name: 'weather', status: 'completed' });
    expect((await post(results(again))).output).toMatchObject([
      { content: [{ text: 'Told: result of {"text":"a"}' }] },
    ]);
  });

  test('is unchanged when the run was cancelled while it waited', async () => {
    const { post, read, cloister } = await served();
    const first = await post('weather:a');
    const [{ run } = { run: '' }] = await cloister.runs();
    await cloister.signal(run, { do: 'cancel' });
    while ((await cloister.runs())[0]!.status === null) await turn();
    expect(await cloister.runs()).toMatchObject([{ status: 'cancelled' }]);
    expect(stableFields((await read(first.id)).body)).toEqual(stableFields(first));
  });

  // invariant: responses-own-only
  test('is as unknown to another caller as one that never existed, whatever the run does', async () => {
    const { post, results, read } = await served();
    const never = 'resp_00000000-0000-4000-8000-000000000000';
    const words = async (id: string): Promise<string> => {
      const { status, body } = await read(id, 'you');
      return `${status} ${JSON.stringify(body).replaceAll(/req_\w+/gu, '')}`;
    };
    const unknown = await words(`${never}_1`);
    expect(unknown).toMatch(/^404 /u);
    const [mine, yours] = [await post('weather:secret', 'me'), await post('weather:other', 'you')];
    for (const nth of [1, 2, 3]) expect(await words(mine.id.replace(/_1$/u, `_${nth}`))).toBe(unknown);
    const rest = await post(results(mine), 'me');
    for (const id of [mine.id, rest.id, mine.id.replace(/_1$/u, '')]) expect(await words(id)).toBe(unknown);
    expect((await read(yours.id, 'you')).status).toBe(200);
    expect((await read(yours.id, 'me')).status).toBe(404);
  });

  // invariant: responses-bounded
  test('is kept for the 16 newest ended runs; reading an older one reports that', async () => {
    const { post, results, read } = await served();
    const ask = async (goal: string, as = 'me'): Promise<readonly [Response, Response]> => {
      const first = await post(goal, as);
      return [first, await post(results(first), as)];
    };
    const oldest = await ask('weather:0');
    const waiting = await post('weather:waits');
    const others = await ask('weather:other', 'you');
    for (let count = 1; count < 16; count++) await ask(`weather:${count}`);
    for (const one of oldest) expect(stableFields((await read(one.id)).body)).toEqual(stableFields(one));
    await ask('weather:16');
    for (const one of oldest)
      expect(await read(one.id)).toMatchObject({
        status: 404,
        body: { error: { message: expect.stringContaining('are stored only for a limited time') } },
      });
    expect(stableFields((await read(waiting.id)).body)).toEqual(stableFields(waiting));
    for (const one of others) expect(stableFields((await read(one.id, 'you')).body)).toEqual(stableFields(one));
  });
});

// invariant: responses-bounded
test('is kept up to the newest 256 KiB of answers of one run', () => {
  const spent = { inputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 1 };
  const parts = new RequestStates();
  const runs = new RunRequestStates();
  runs.begin('me', 'r1' as RunId, parts);
  const part = (text: string): RequestState => ({ state: 'calls', text, calls: [], spent });
  for (let count = 0; count < 40; count++) parts.record(parts.begin(), part('x'.repeat(10_000)));
  const kept = Array.from({ length: 40 }, (_, place) => runs.get({ name: 'me' }, 'r1', place + 1)?.state ?? null);
  expect(kept).toEqual(kept.map((_, place) => (place < 15 ? null : 'calls')));
  parts.record(parts.begin(), part('y'.repeat(1_000_000)));
  expect([40, 41].map((nth) => parts.get(nth)?.state)).toEqual([undefined, 'calls']);
  expect(runs.get({ name: 'you' }, 'r1', 41)).toBeUndefined();
});
