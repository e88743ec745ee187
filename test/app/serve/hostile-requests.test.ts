// Well-formed requests that try to widen a limit or to block everyone else.
import { defineAgent, hashToken } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import { checkHostsAndOrigins, checkTokenEntries } from '../../../src/app/serve/check-server-setup.ts';
import { serveAgents } from '../../headends/http/driver.ts';

const agent = (options: Partial<Parameters<typeof defineAgent>[0]> = {}, reply = 'Hello.') =>
  defineAgent({
    name: 'lead',
    description: 'd',
    prompt: 'p',
    models: [rehearse({ price: { input: 1, output: 1 }, lines: [{ reply }] }).model],
    ...options,
  });

describe('the budget of an agent', () => {
  const fields = { tokens: 50, usd: 0.000_001 } as const;
  test.for(Object.entries(fields))('in %s holds whatever a client or its token asks for', async ([unit, most]) => {
    const token = 'a'.repeat(40);
    const entry = { name: 'ann', sha256: hashToken(token), budget: { [unit]: 1e9 } };
    const { ask } = await serveAgents({ agents: [agent({ budget: { [unit]: most } })], tokens: [entry] });
    const post = (more: object) =>
      ask('/v1/lead', { json: { input: 'x'.repeat(2_000), ...more }, headers: { authorization: `Bearer ${token}` } });
    for (const more of [{}, { budget: { [unit]: 1e9 } }, { conversation: 'c', budget: { [unit]: 1e9 } }]) {
      const answer = await post(more);
      expect([answer.status, ((await answer.json()) as { status: string }).status]).toEqual([429, 'budget']);
    }
  });
});

test('a schema from a request cannot keep the server busy: a pattern is decided or refused, and its size is limited', async () => {
  const { ask, cloister } = await serveAgents({ agents: [agent({}, `"${'a'.repeat(40)}!"`)] });
  const post = async (schema: object): Promise<[number, string]> => {
    const response = await ask('/v1/lead', { json: { input: 'x', schema } });
    return [response.status, await response.text()];
  };
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => post({ type: 'string', pattern: '^(a+)+$', minLength: 1 })),
  );
  for (const answer of answers) expect(answer).toEqual([422, expect.stringContaining('"answer_schema"')]);
  expect(await post({ type: 'string', pattern: '^(?=a)' })).toEqual([
    400,
    expect.stringMatching(/schema: expected a JSON Schema: \/pattern: the pattern uses a look-ahead.*rewrite/u),
  ]);
  expect(await post({ type: 'string', allOf: doubled(24) })).toEqual([422, expect.stringContaining('"answer_schema"')]);
  const [newest] = await cloister.runs();
  expect(JSON.stringify(await cloister.show(newest!.run))).toContain('too costly to check against the schema');
  expect((await post({ type: 'object', description: 'x'.repeat(70_000) }))[0]).toBe(400);
});

/** Each level refers to the next one twice. */
const doubled = (levels: number): object[] => {
  let schema: object = { $anchor: 'l0', type: 'string' };
  for (let level = 1; level <= levels; level++)
    schema = { $anchor: `l${level}`, allOf: [schema, { $ref: `#l${level - 1}` }] };
  return [schema];
};

test('too many parts of a context or of a history are refused as such', async () => {
  const { ask } = await serveAgents({ agents: [agent()] });
  const refusal = async (json: object) => {
    const response = await ask('/v1/lead', { json: { input: 'x', ...json } });
    return [response.status, ((await response.json()) as { error: { message: string } }).error.message];
  };
  const context = Array.from({ length: 1_001 }, () => 'x');
  expect(await refusal({ context })).toEqual([413, expect.stringContaining('context: 1001 texts; the limit is 1000')]);
  const history = Array.from({ length: 10_001 }, () => ({ by: 'person', text: 'x' }));
  expect(await refusal({ history })).toEqual([
    413,
    expect.stringContaining('history: 10001 texts; the limit is 10000'),
  ]);
});

test('an empty key is no key, even where its hash is configured', async () => {
  const entry = { name: 'ann', sha256: hashToken('') };
  expect(() => checkTokenEntries([entry], [])).toThrow(/empty string/u);
  const { url } = await serveAgents({ agents: [agent()] });
  expect((await fetch(`${url}/v1`, { headers: { 'x-api-key': '' } })).status).toBe(401);
});

test.for([['null'], ['*'], ['a.example'], ['https://a.example/'], ['https://a.example/x'], ['file:///x']])(
  'the origin %s is refused before anything listens',
  ([origin]) => {
    expect(() => checkHostsAndOrigins([], [origin!])).toThrow(CloisterError);
    expect(() => checkHostsAndOrigins([], ['https://a.example:8443', 'http://localhost:3000'])).not.toThrow();
  },
);

test.for([['*'], ['http://a.example'], ['a b'], ['a/b']])(
  'the host %s is refused before anything listens',
  ([host]) => {
    expect(() => checkHostsAndOrigins([host!], [])).toThrow(CloisterError);
    expect(() => checkHostsAndOrigins(['a.example', 'a.example:80', '[::1]:80', '10.0.0.1'], [])).not.toThrow();
  },
);

test.for([[''], [' '], ['a\nb'], ['\u202Ea'], ['x'.repeat(51)], ['\uD800']])(
  'a conversation cannot be named %j',
  async ([conversation]) => {
    const { ask, cloister } = await serveAgents({ agents: [agent()] });
    expect((await ask('/v1/lead', { json: { input: 'x', conversation } })).status).toBe(400);
    expect(await cloister.runs()).toEqual([]);
  },
);
