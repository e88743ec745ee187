// Responses of runs whose client has tools, read again: by the caller that they were made for, and by nobody else.
import { describe, expect, test } from 'vitest';
import { openHouse, time, weather } from '../../headends/client-tools/house.ts';
import { RequestStates, RunRequestStates } from '../../../src/app/serve/request-states.ts';
import type { RunId } from '#base';
import type { RequestState } from '#contracts';
import { temporaryFolder } from '../../isolation/temporary-folder.ts';
import { serveTools, turn } from './client-driver.ts';
import type { Opening } from './client-driver.ts';
import { got } from './posted.ts';

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

const served = async (opening: Partial<Opening> = {}) => {
  const { send, server, cloister } = await serveTools({ agents: openHouse().agents, ...opening });
  const post = async (input: unknown, as = 'me'): Promise<Response> =>
    (await (await send('/v1/responses', { model: 'guide', input, tools }, { as })).json()) as Response;
  const results = ({ output }: Response) =>
    output.flatMap(({ call_id, arguments: args }) =>
      call_id === undefined ? [] : [{ type: 'function_call_output', call_id, output: `result of ${args}` }],
    );
  const read = async (id: string, as = 'me'): Promise<{ status: number; body: any }> => {
    const response = await server.fetch(got(`/v1/responses/${id}`, as));
    return { status: response.status, body: await response.json() };
  };
  return { server, cloister, post, results, read };
};

/** What both who waited and who reads it again are told. */
const shown = ({ id, status, output, usage }: Response): object => ({ id, status, output, usage });

describe('a response of a run whose client has tools', () => {
  test.each(['memory', 'disk'])('is read again as it was given, during the run and after it (%s)', async (where) => {
    await using folder = await temporaryFolder();
    const { post, results, read } = await served(where === 'disk' ? { of: { workspace: folder.path } } : {});
    const given: Response[] = [await post('weather:a, time:b; own:c; weather:d')];
    for (let left = 4; results(given.at(-1)!).length > 0 && left > 0; left--) {
      for (const one of given) expect(shown((await read(one.id)).body)).toEqual(shown(one));
      given.push(await post(results(given.at(-1)!)));
    }
    expect(given).toHaveLength(3);
    expect(given.at(-1)!.output).toMatchObject([{ type: 'message' }]);
    for (const one of given) expect(shown((await read(one.id)).body)).toEqual(shown(one));
    const next = given.at(-1)!.id.replace(/_3$/u, '_4');
    expect(await read(next)).toMatchObject({ status: 404 });
  });

  test('is in progress while the agent works on it', async () => {
    const gate = Promise.withResolvers<string>();
    const { post, results, read } = await served({ agents: openHouse({ execute: () => gate.promise }).agents });
    const first = await post('weather:a; own:b');
    const second = post(results(first));
    const id = first.id.replace(/_1$/u, '_2');
    await turn();
    expect((await read(id)).body).toMatchObject({ id, status: 'in_progress', output: [], usage: null });
    expect(shown((await read(first.id)).body)).toEqual(shown(first));
    gate.resolve('done');
    expect((await second).id).toBe(id);
    expect(shown((await read(id)).body)).toEqual(shown(await second));
  });

  test('tells the calls that the run waits for, with which it is gone on with', async () => {
    const { post, results, read } = await served();
    const { id } = await post('weather:a');
    const again = (await read(id)).body as Response;
    expect(again.output.at(-1)).toMatchObject({ type: 'function_call', name: 'weather', status: 'completed' });
    expect((await post(results(again))).output).toMatchObject([
      { content: [{ text: 'Told: result of {"text":"a"}' }] },
    ]);
  });

  test('is what it was when the run was cancelled while it waited', async () => {
    const { post, read, cloister, server } = await served();
    const first = await post('weather:a');
    expect(await server.stop(0)).toEqual([]);
    expect(await cloister.runs()).toMatchObject([{ status: 'cancelled' }]);
    expect(shown((await read(first.id)).body)).toEqual(shown(first));
  });

  test('is as unknown to another caller as one that never was, whatever the run does', async () => {
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

  test('of the 16 newest runs that have ended is kept; an older one is not, and that is said', async () => {
    const { post, results, read } = await served();
    const ask = async (goal: string, as = 'me'): Promise<readonly [Response, Response]> => {
      const first = await post(goal, as);
      return [first, await post(results(first), as)];
    };
    const oldest = await ask('weather:0');
    const waiting = await post('weather:waits');
    const others = await ask('weather:other', 'you');
    for (let count = 1; count < 16; count++) await ask(`weather:${count}`);
    for (const one of oldest) expect(shown((await read(one.id)).body)).toEqual(shown(one));
    await ask('weather:16');
    for (const one of oldest)
      expect(await read(one.id)).toMatchObject({
        status: 404,
        body: { error: { message: expect.stringContaining('are kept for a while only') } },
      });
    expect(shown((await read(waiting.id)).body)).toEqual(shown(waiting));
    for (const one of others) expect(shown((await read(one.id, 'you')).body)).toEqual(shown(one));
  });
});

test('of one run, the newest 256 KiB of answers are kept', () => {
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
