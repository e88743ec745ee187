// Schemas that would take practically unlimited time: validation against one is abandoned, and the session continues.
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '#base';
import { schemaProblem, validate } from '#adapters/schemas';
import { agent, ask, call, lastResults, lines, ofType, tool } from '../core/session/driver.ts';

/** Twice as slow with every letter. Short enough that a validator without a time limit would eventually finish. */
const slowText = `${'a'.repeat(32)}b`;
const slowPattern = '^(a+)+$';

/** Each level refers to the next one twice. */
const doubling = (levels: number): JsonObject => ({
  $ref: '#/$defs/l0',
  $defs: Object.fromEntries([
    ...Array.from({ length: levels }, (_, level): [string, JsonObject] => [
      `l${level}`,
      { allOf: [{ $ref: `#/$defs/l${level + 1}` }, { $ref: `#/$defs/l${level + 1}` }] },
    ]),
    [`l${levels}`, { type: 'string' }],
  ]),
});

describe('validation is abandoned after a time limit', () => {
  test.each<[string, JsonObject, Json]>([
    ['a pattern', { type: 'string', pattern: slowPattern }, slowText],
    ['a pattern of names', { patternProperties: { [slowPattern]: { type: 'string' } } }, { [slowText]: 'x' }],
    ['references that double at each of 24 levels', doubling(24), 'x'],
  ])('%s', (_, schema, value) => {
    expect(schemaProblem(schema)).toBeNull();
    expect(() => validate(schema, value)).toThrow('Validating a value against the schema took longer than');
  });
});

test('ordinary patterns and references validate correctly', () => {
  const schema: JsonObject = {
    type: 'object',
    properties: { code: { $ref: '#/$defs/code' } },
    patternProperties: { '^n_': { type: 'number' } },
    $defs: { code: { type: 'string', pattern: '^[a-z]{2}-\\d+$' } },
  };
  expect(validate(schema, { code: 'ab-12', n_one: 1 })).toEqual([]);
  expect(validate(schema, { code: 'ab12' })).toContainEqual(expect.stringMatching(/^\/code: .*pattern/u));
  expect(validate(schema, { n_one: 'one' })).toEqual([expect.stringMatching(/^\/n_one: .*number/u)]);
  expect(validate(doubling(6), 'x')).toEqual([]);
  expect(validate(doubling(6), 5)).not.toEqual([]);
});

test.each<[string, JsonObject]>([
  ['a plain schema', { type: 'array', items: { type: 'string' } }],
  ['one with a reference', { type: 'array', items: { $ref: '#/$defs/a' }, $defs: { a: { type: 'string' } } }],
])('at most the first hundred of 20,000 wrong items are reported: %s', (_, schema) => {
  const items = Array.from({ length: 20_000 }, (_none, index) => index);
  const problems = validate(schema, items);
  expect(problems.length).toBeGreaterThan(10);
  expect(problems.length).toBeLessThanOrEqual(100);
  expect(problems[0]).toMatch(/^\/0: /u);
});

test('a call of a source’s tool with such a schema fails, and the session continues', async () => {
  const called: unknown[] = [];
  const find = tool('find', (args) => (called.push(args), 'found'), {
    inputSchema: { type: 'object', properties: { q: { type: 'string', pattern: slowPattern } } },
  });
  const docs = { name: 'docs', list: async () => ({ tools: [find] }) };
  const { outcome, events, requests } = await ask(agent('lead', { tools: [docs] }), {
    says: lines({ lead: [call('docs__find', { q: slowText }), call('docs__find', { q: 'aaa' }), 'Done.'] }),
  });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(ofType(events, 'tool-end')).toMatchObject([{ ok: false, error: { code: 'tool_arguments' } }, { ok: true }]);
  const [refused, found] = lastResults(requests);
  expect(refused!.text).toContain('input schema is invalid');
  expect(found!.text).toBe('found');
  expect(called).toEqual([{ q: 'aaa' }]);
});
