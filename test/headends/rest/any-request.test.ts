// Any request is accepted, or refused as a client error.
import { httpStatus } from '#headends/shared';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { ObjectForm, Shape } from '#base/shapes';
import { budgetShape } from '#contracts';
import type { Agent, AgentRequest } from '#contracts';
import { testRuns } from '../../test-seed.ts';
import { readRestBody, readQuery } from '#testing/headends/rest';
import { askQueryShape, messageShape, runRequestShape } from '../../../src/headends/rest/request-shapes.ts';
import type { RunRequestBody } from '../../../src/headends/rest/request-shapes.ts';
import { requestFromBody, requestFromQuery } from '../../../src/headends/rest/run-request.ts';
import type { ParsedRunRequest } from '../../../src/headends/rest/run-request.ts';
import { counter, writer } from './fake-service.ts';

const parseBody = (body: Json, of: Agent): ParsedRunRequest =>
  requestFromBody(readRestBody(runRequestShape, body)!, of);
const parseQuery = (query: URLSearchParams, of: Agent): ParsedRunRequest =>
  requestFromQuery(readQuery(askQueryShape, query), of);
const keysOf = (shape: Shape): readonly string[] => Object.keys((shape as Shape & ObjectForm).fields);

const runsMax = testRuns(20_000);
const agents: readonly Agent[] = [writer, counter];
const agent = fc.constantFrom(...agents);

/** How many were accepted and how many refused; both must occur. */
const seen = { understood: 0, refused: 0 };

const countAccepted = <T>(parse: () => T, check: (value: T) => void): void => {
  let value: T;
  try {
    value = parse();
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    seen.refused++;
    expect(httpStatus(error.code)).toBe(400);
    expect(error.failure.detail?.length).toBeLessThan(1_000);
    return;
  }
  seen.understood++;
  check(value);
};

const fewestSeen = (check: () => void): number => {
  Object.assign(seen, { understood: 0, refused: 0 });
  check();
  return Math.min(seen.understood, seen.refused);
};

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: readonly unknown[]): boolean => value.every((text) => typeof text === 'string');

const checkRequest = ({ budget = {}, ...asked }: AgentRequest, { name, signature: { input } }: Agent): void => {
  expect(asked.agent).toBe(name);
  expect(typeof asked.input === 'string' || isObject(asked.input)).toBe(true);
  if (input.format === 'json') expect(isObject(asked.input)).toBe(true);
  if (asked.schema !== undefined) expect([asked.format, isObject(asked.schema)]).toEqual(['json', true]);
  if (asked.format !== undefined) expect(['text', 'markdown', 'json']).toContain(asked.format);
  expect(keysOf(budgetShape)).toEqual(expect.arrayContaining(Object.keys(budget)));
  for (const value of Object.values(budget)) expect(Number.isFinite(value) && value >= 0).toBe(true);
  expect(isTexts(asked.context ?? [])).toBe(true);
  for (const said of asked.history ?? []) {
    expect(Object.keys(said).sort()).toEqual(['by', 'text']);
    expect(isTexts(Object.values(said))).toBe(true);
  }
  if (asked.conversation !== undefined)
    expect([typeof asked.conversation, asked.history]).toEqual(['string', undefined]);
};

const checkParsed =
  (of: Agent) =>
  ({ request, stream, waits, details }: ParsedRunRequest): void => {
    checkRequest(request, of);
    expect([typeof waits, typeof details, [true, false, null].includes(stream)]).toEqual(['boolean', 'boolean', true]);
    if (!waits || request.resident === true) expect([stream, details]).not.toContain(true);
  };

const words = fc.oneof(
  fc.constantFrom('', '0', '1', '-1', '1e3', 'NaN', 'Infinity', ' 1', '0x10', '1.5', 'true', 'false', 'json', 'text'),
  fc.constantFrom('{}', '{"of":"x"}', '[]', 'null', '{"a":1,"a":2}', '{"__proto__":{}}', '['.repeat(100), '{"type":'),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.json({ maxDepth: 2 }),
);

test('any query is accepted or refused', () => {
  const name = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...keysOf(askQueryShape)) },
    { weight: 1, arbitrary: words },
  );
  const right = fc.constantFrom<[string, string][]>(
    ['q', 'x'],
    ['q', '{"of":"x"}'],
    ['format', 'text'],
    ['stream', 'true'],
    ['budget_tokens', '5'],
  );
  const fewest = fewestSeen(() =>
    fc.assert(
      fc.property(fc.array(fc.oneof(right, fc.tuple(name, words)), { maxLength: 6 }), agent, (pairs, of) => {
        const query = new URLSearchParams(pairs);
        countAccepted(() => parseQuery(query, of), checkParsed(of));
      }),
      { numRuns: runsMax },
    ),
  );
  expect(fewest).toBeGreaterThan(runsMax / 100);
});

const anything: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json[]>('x', '', null, true, false, 0, -1, 1.5, 1e308, 'json', 'text', 'markdown', 'person', {}, []),
  fc.constantFrom<Json[]>({ tokens: 5 }, { usd: -1 }, { tokenz: 1 }, ['a', 'b'], [1], { prompt: 'x' }, '{"of":"x"}'),
  fc.constantFrom<Json[]>([{ by: 'agent', text: 'x' }], [{ by: 'me', text: 'x' }], [{ by: 'person' }], [null]),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>,
);
/** Fields that are mostly valid, and sometimes an unknown one. */
const bodyOf = (fields: Readonly<Record<string, fc.Arbitrary<Json>>>): fc.Arbitrary<Json> => {
  const each = Object.fromEntries(
    Object.entries(fields).map(([name, right]) => [
      name,
      fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: anything }),
    ]),
  );
  const known = fc.record(each, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;
  const strange = fc.dictionary(fc.string(), anything, { maxKeys: 1 }) as fc.Arbitrary<JsonObject>;
  return fc.oneof(
    { weight: 8, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, strange).map(([one, other]) => ({ ...one, ...other })) },
    { weight: 1, arbitrary: anything },
  );
};

const oneOf = (...values: readonly Json[]): fc.Arbitrary<Json> => fc.constantFrom(...values);
const flag = oneOf(true, false, null);
const bodyFields: Readonly<Record<keyof RunRequestBody, fc.Arbitrary<Json>>> = {
  input: oneOf('x', '{"of":"x"}', { of: 'x' }),
  format: oneOf('json', 'json', 'text'),
  schema: oneOf({ type: 'object' }, {}),
  budget: oneOf({}, { tokens: 5, usd: 0.5 }, { ms: 0, spawns: 1, memory: 1e9 }),
  context: oneOf([], ['a', 'b']),
  attachments: oneOf(
    [],
    [{ mediaType: 'text/plain', data: 'eA==' }],
    [{ mediaType: 'image/png', data: 'x', name: 'x' }],
  ),
  conversation: oneOf('trip', null),
  history: oneOf([{ by: 'agent', text: 'x' }], [], null),
  resident: oneOf(false, false, true),
  wait: oneOf(true, true, false),
  stream: flag,
  details: flag,
};

test('any body is accepted or refused', () => {
  const fewest = fewestSeen(() =>
    fc.assert(
      fc.property(bodyOf(bodyFields), agent, (body, of) => countAccepted(() => parseBody(body, of), checkParsed(of))),
      { numRuns: runsMax },
    ),
  );
  expect(fewest).toBeGreaterThan(runsMax / 100);
});

test('any message is accepted or refused', () => {
  const fewest = fewestSeen(() =>
    fc.assert(
      fc.property(
        bodyOf({ text: oneOf('x', ''), to: oneOf('a', null), topic: oneOf('b', null), answer: flag }),
        (body) =>
          countAccepted(
            () => readRestBody(messageShape, body)!,
            ({ text, answer = false, ...target }) => {
              expect([typeof text, typeof answer]).toEqual(['string', 'boolean']);
              expect(Object.keys(target).length).toBeLessThan(2);
              if (target.topic !== undefined) expect(answer).toBe(false);
            },
          ),
      ),
      { numRuns: runsMax },
    ),
  );
  expect(fewest).toBeGreaterThan(runsMax / 100);
});

const amount = fc.double({ min: 0, max: 1e12, noNaN: true });
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const given = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
const schema = fc.constantFrom<JsonObject[]>({ type: 'object' }, {}, { type: 'array', items: { type: 'integer' } });

test('a valid body becomes exactly the request it describes', () => {
  const said = fc.array(fc.record({ by: fc.constantFrom('person', 'agent'), text: fc.string() }));
  const body = fc.record({
    input: fc.oneof(
      fc.string(),
      fc.dictionary(fc.string(), fc.string()).map((value): JsonObject => ({ ...value })),
    ),
    schema: maybe(schema),
    budget: maybe(
      fc.record(
        { tokens: fc.nat(), usd: amount, ms: fc.nat(), spawns: fc.nat(), memory: fc.nat() },
        { requiredKeys: [] },
      ),
    ),
    context: maybe(fc.array(fc.string())),
    history: maybe(said),
  });
  fc.assert(
    fc.property(body, fc.boolean(), (value, stream) => {
      const sent = given({ ...value, stream }) as unknown as JsonObject;
      const { request, ...how } = parseBody(sent, writer);
      const form = value.schema === undefined ? {} : { format: 'json' };
      expect(request).toEqual({ agent: 'writer', ...form, ...given(value) });
      expect(how).toEqual({ stream, waits: true, details: false });
    }),
  );
});

test('a valid query becomes exactly the request it describes', () => {
  const whole = fc.nat();
  const asked = fc.record({
    q: fc.string(),
    schema: maybe(schema),
    tokens: maybe(whole),
    ms: maybe(whole),
    name: maybe(fc.string()),
  });
  fc.assert(
    fc.property(asked, ({ q, schema: form, tokens, ms, name }) => {
      const query = new URLSearchParams(
        given({
          q,
          schema: form === undefined ? undefined : JSON.stringify(form),
          budget_tokens: tokens?.toString(),
          budget_ms: ms?.toString(),
          conversation: name,
        }) as Record<string, string>,
      );
      const budget = given({ tokens, ms });
      expect(parseQuery(query, writer).request).toEqual({
        agent: 'writer',
        input: q.toWellFormed(),
        ...(form === undefined ? {} : { format: 'json', schema: form }),
        ...(name === undefined ? {} : { conversation: name.toWellFormed() }),
        ...(Object.keys(budget).length === 0 ? {} : { budget }),
      });
    }),
  );
});
