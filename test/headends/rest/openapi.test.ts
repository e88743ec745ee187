import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { validate } from '#adapters/schemas';
import type { Json, JsonObject } from '#base';
import { problemsIn } from '#base/shapes';
import type { Shape } from '#base/shapes';
import type { HttpRoute } from '#contracts';
import { openapiRoute, reservedNames, restError, restRoutes } from '#headends/rest';
import { openapiDocument } from '#testing/headends/rest';
import { messageShape, runRequestShape, spawnShape } from '../../../src/headends/rest/request-shapes.ts';
import { restBodies } from '../../messages/rest-requests.ts';
import { ana, json, FakeService, send } from './fake-service.ts';
import type { SendOptions } from './fake-service.ts';

type Operation = {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, { readonly schema: JsonObject }> }>>;
  readonly security?: readonly unknown[];
};
type Document = JsonObject & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: JsonObject;
};

const about = { version: '1.2.3' };
const documentOf = (routes: readonly HttpRoute[]) => openapiDocument(routes, about) as Document;
const rest = restRoutes(new FakeService(), about);
const all: readonly HttpRoute[] = [...rest, openapiRoute(() => all, about)];

const isValid = async (document: JsonObject): Promise<void> => {
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect(errors ?? []).toEqual([]);
  expect(valid).toBe(true);
};

const addressesIn = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
const addressOf = ({ method, path }: HttpRoute) => `${method.toLowerCase()} ${path.replace(/:([^/]+)/gu, '{$1}')}`;

// invariant: openapi-lists-routes
test('the document is valid OpenAPI, and holds every route and nothing else but /health', async () => {
  const document = documentOf(all);
  await isValid(document);
  expect(addressesIn(document).sort()).toEqual(['get /health', ...new Set(all.map(addressOf))].sort());
});

test('the validator rejects a damaged document', async () => {
  const { paths, ...rest_ } = documentOf(all);
  const { valid } = await new Validator().validate({ ...rest_, paths: { ...paths, 'no-slash': {} } });
  expect(valid).toBe(false);
});

test('everything but /health needs a token', () => {
  const { paths, security } = documentOf(all);
  expect(security).toEqual([{ bearer: [] }, { apiKey: [] }]);
  const open = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap((operation) =>
      operation.security === undefined ? [] : [[path, operation.security]],
    ),
  );
  expect(open).toEqual([['/health', []]]);
});

test('every part of a path is a parameter, and every id is unique', () => {
  const operations = Object.entries(documentOf(all).paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
  for (const { path, operation } of operations) {
    const named = operation.parameters?.filter((parameter) => parameter.in === 'path').map(({ name }) => name) ?? [];
    expect(named.sort()).toEqual((path.match(/\{[^}]+\}/gu) ?? []).map((part) => part.slice(1, -1)).sort());
  }
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
});

const otherForm: HttpRoute['formatError'] = ({ message }, request) => ({ wrong: message, request });
const other = (over: Partial<HttpRoute>): HttpRoute => ({
  method: 'GET',
  path: '/v1/models',
  formatError: otherForm,
  operation: {
    operationId: 'listModels',
    summary: 'Models',
    responses: { 200: { description: 'One.', content: { 'application/json': { schema: { type: 'array' } } } } },
  },
  answer: async () => ({ status: 200, body: {} }),
  ...over,
});

test('two routes with one path are merged into one operation', async () => {
  const second = other({
    path: '/v1/models',
    when: () => true,
    formatError: restError,
    operation: {
      operationId: 'otherModels',
      summary: 'Other models',
      parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer' } }],
      responses: {
        200: {
          description: 'Two.',
          content: {
            'application/json': { schema: { type: 'object' } },
            'text/event-stream': { schema: { type: 'string' } },
          },
        },
        418: { description: 'A teapot.', headers: { 'x-lid': { schema: { type: 'string' } } } },
      },
    },
  });
  for (const routes of [
    [second, other({})],
    [other({}), second],
  ]) {
    const document = documentOf(routes);
    await isValid(document);
    const operation = document.paths['/v1/models']!['get']! as Operation & JsonObject;
    expect(operation.responses['200']!.content!['application/json']!.schema['anyOf']).toEqual(
      expect.arrayContaining([{ type: 'array' }, { type: 'object' }]),
    );
    expect(operation.responses['200']!.content!['text/event-stream']).toEqual({ schema: { type: 'string' } });
    expect(operation.responses['418']).toEqual(second.operation['responses']!['418' as never]);
    expect(operation.parameters).toMatchObject([{ name: 'limit' }]);
    expect(operation['summary']).toContain('Other models');
    const failure = JSON.stringify(operation.responses['401']);
    expect(failure).toContain('"wrong"');
    expect(failure).toContain('"suggestion"');
  }
});

test('paths that differ only in their parameter names are one', async () => {
  const get = other({ path: '/v1/models/:id' });
  const remove = other({ method: 'DELETE', path: '/v1/models/:model' });
  const document = documentOf([get, remove]);
  await isValid(document);
  expect(addressesIn(document)).toEqual(['get /health', 'get /v1/models/{id}', 'delete /v1/models/{id}']);
  expect(document.paths['/v1/models/{id}']!['delete']!.parameters).toMatchObject([{ name: 'id', in: 'path' }]);
  expect(document.paths['/v1/models/{id}']!['delete']!.operationId).toBe('listModels_2');
});

// invariant: openapi-errors-by-protocol
test('errors are described in the format of the protocol', () => {
  const { paths } = documentOf([other({})]);
  expect(JSON.stringify(paths['/v1/models']!['get']!.responses['429'])).toContain('"wrong":"The server is at capacity');
});

test('GET /openapi.json describes all routes, including itself', async () => {
  const { body } = json(await send(all, 'GET', '/openapi.json'));
  expect(body).toEqual(documentOf(all));
  expect(body).toHaveProperty(['paths', '/openapi.json', 'get']);
});

test('no agent can have the name of a path below /v1', () => {
  const words = [...all, other({})].map(({ path }) => /^\/v1\/([^:/]+)/u.exec(path)?.[1]);
  expect(words).toContain('runs');
  for (const word of words) if (word !== undefined) expect(reservedNames).toContain(word);
});

const fits = (document: Document, schema: JsonObject, value: Json): void =>
  expect(validate({ ...schema, components: document.components }, value)).toEqual([]);

const session = {
  agents: () => [
    {
      cell: 'c1',
      parent: null,
      agent: 'writer',
      sub_agent_id: 'writer',
      session_id: 's1',
      workflow_id: null,
      subscriptions: [],
      metadata: {},
      spawned_at: 1,
      status: 'waiting',
      mailbox: true,
    },
  ],
  cancel: () => undefined,
  finish: () => undefined,
  spawn: async () => ({
    cell: 'c2',
    parent: 'c1',
    sub_agent_id: 'scout',
    session_id: 's2',
    status: 'spawned',
    subscribed_topics: ['news'],
  }),
  send: () => 'm-1',
  answer: async () => ({
    id: 'm-2',
    correlation_id: 'm-1',
    agent_id: 'writer',
    status: 'failed',
    text: '',
    error: 'model_rate',
    at: 5,
  }),
} as never;

test('every answer matches its schema', async () => {
  const document = documentOf(all);
  const asked: readonly (readonly [HttpRoute['method'], string, string, SendOptions])[] = [
    ['GET', '/v1', '/v1', {}],
    ['GET', '/v1/agents', '/v1/agents', {}],
    ['GET', '/v1/agents/{agent}/template', '/v1/agents/writer/template', {}],
    ['GET', '/v1/{agent}', '/v1/writer?q=x&details=true', {}],
    ['POST', '/v1/{agent}', '/v1/writer', { body: { input: 'x', conversation: 'trip' } }],
    ['POST', '/v1/{agent}', '/v1/writer', { body: { input: 'x', wait: false } }],
    ['GET', '/v1/me', '/v1/me', {}],
    ['GET', '/v1/callers', '/v1/callers', {}],
    ['GET', '/v1/runs', '/v1/runs', {}],
    ['GET', '/v1/runs/{run}', '/v1/runs/r1', {}],
    ['GET', '/v1/runs/{run}/events', '/v1/runs/r1/events?limit=10', {}],
    ['GET', '/v1/runs/{run}/transcript', '/v1/runs/r1/transcript?full=true', {}],
    ...['explain?cell=c1', 'audit', 'windows', 'ledger', 'tasks', 'diff?with=r1'].map(
      (path) => ['GET', `/v1/runs/{run}/${path.split('?', 1)[0]!}`, `/v1/runs/r1/${path}`, {}] as const,
    ),
    ['POST', '/v1/runs/{run}/fork', '/v1/runs/r1/fork', { body: { at: 'c1', goal: 'Stay.' } }],
    ['GET', '/v1/checkpoints', '/v1/checkpoints?agent=writer&run=r1&limit=1', {}],
    ['GET', '/v1/checkpoints/{checkpoint}', '/v1/checkpoints/c1', {}],
    ['GET', '/v1/checkpoints/{checkpoint}/diff', '/v1/checkpoints/c1/diff?with=c2', {}],
    ['POST', '/v1/runs/{run}/checkpoints', '/v1/runs/r1/checkpoints', { body: { label: 'now' } }],
    ['POST', '/v1/checkpoints/{checkpoint}/restore', '/v1/checkpoints/c1/restore', {}],
    ['POST', '/v1/checkpoints/{checkpoint}/branch', '/v1/checkpoints/c1/branch', { body: { name: 'other' } }],
    ['GET', '/v1/questions', '/v1/questions?run=r1&limit=1', {}],
    ['GET', '/v1/runs/{run}/questions', '/v1/runs/r1/questions', {}],
    ['GET', '/v1/questions/{question}', '/v1/questions/q-r1-3', {}],
    ['POST', '/v1/questions/{question}', '/v1/questions/q-r1-3', { body: { allow: true, sha256: '0' } }],
    ['GET', '/v1/runs/{run}/mail', '/v1/runs/r1/mail', {}],
    ['POST', '/v1/runs/{run}/retry', '/v1/runs/r1/retry', {}],
    ['GET', '/v1/conversations', '/v1/conversations?agent=writer', {}],
    ['GET', '/v1/conversations/{agent}/{conversation}', '/v1/conversations/writer/trip?limit=1', {}],
    ['DELETE', '/v1/callers/{caller}', '/v1/callers/ana?dryRun=true', {}],
    ['DELETE', '/v1/callers/{caller}/conversations/{agent}/{name}', '/v1/callers/ana/conversations/writer/trip', {}],
    ['POST', '/v1/runs/{run}/archive', '/v1/runs/r1/archive?why=old', {}],
    ['POST', '/v1/runs/{run}/restore', '/v1/runs/r1/restore', {}],
    ['DELETE', '/v1/conversations/{agent}/{conversation}', '/v1/conversations/writer/trip?force=true', {}],
    ['GET', '/v1/dead-letters', '/v1/dead-letters?runs=5', {}],
    ['POST', '/v1/runs/{run}/replay', '/v1/runs/r1/replay', {}],
    ['GET', '/v1/runs/{run}/agents', '/v1/runs/r1/agents', {}],
    ['POST', '/v1/runs/{run}/agents', '/v1/runs/r1/agents', { body: { agent: 'scout', goal: 'Look.' } }],
    ['GET', '/v1/runs/{run}/messages', '/v1/runs/r1/messages', {}],
    ['POST', '/v1/runs/{run}/messages', '/v1/runs/r1/messages', { body: { text: 'x' } }],
    ['POST', '/v1/runs/{run}/messages', '/v1/runs/r1/messages', { body: { text: 'x', answer: true } }],
    ['POST', '/v1/runs/{run}/cancel', '/v1/runs/r1/cancel', {}],
    ['POST', '/v1/runs/{run}/finish', '/v1/runs/r1/finish', {}],
    ['DELETE', '/v1/runs/{run}', '/v1/runs/r1?why=x', {}],
    ['DELETE', '/v1/runs/{run}/agents/{name}', '/v1/runs/r1/agents/scout', {}],
  ];
  const described = new Set<string>();
  for (const behaviour of [
    { session },
    { session, state: 'ended' as const, outcome: { failure: { code: 'model_rate' as const } } },
  ]) {
    const { routes } = new FakeService(behaviour);
    await send(routes, 'POST', '/v1/writer', { body: { input: 'x', wait: false } });
    for (const [method, path, address, sent] of asked) {
      const { status, body } = json(await send(routes, method, address, { caller: ana, ...sent }));
      const { responses } = document.paths[path]![method.toLowerCase()]!;
      const { schema } = (responses[status] ?? (path.endsWith('messages') ? responses['200'] : undefined))!.content![
        'application/json'
      ]!;
      expect(Object.keys(body).length).toBeGreaterThan(0);
      fits(document, schema, body);
      described.add(`${method} ${path}`);
    }
  }
  const { routes: interrupted } = new FakeService({ state: 'interrupted' });
  await send(interrupted, 'POST', '/v1/writer', { body: { input: 'x', wait: false } });
  const resumed = json(await send(interrupted, 'POST', '/v1/runs/r1/resume', { caller: ana }));
  const { responses: ofResume } = document.paths['/v1/runs/{run}/resume']!['post']!;
  fits(document, ofResume[resumed.status]!.content!['application/json']!.schema, resumed.body);
  described.add('POST /v1/runs/{run}/resume');
  const noJson = ['GET /v1/runs/{run}/attachments/{sha256}', 'GET /v1/runs/{run}/export'];
  expect([...described, ...noJson].sort()).toEqual(
    [...new Set(rest.map((route) => addressOf(route).replace(/^\w+/u, (method) => method.toUpperCase())))].sort(),
  );
});

test.each<[string, Shape]>([
  ['RunRequest', runRequestShape],
  ['Message', messageShape],
  ['Spawn', spawnShape],
])('a %s is taken exactly if the document says so, apart from null for a missing field', async (name, shape) => {
  const { body } = json(await send(all, 'GET', '/openapi.json'));
  const schema: JsonObject = { $ref: `#/components/schemas/${name}`, components: body['components'] };
  let accepted = 0;
  const valid: readonly Json[] = [{ input: 'Go.' }, { text: 'Hello.' }, { agent: 'scout', metadata: { a: 'b' } }];
  for (const value of [...valid, ...restBodies.map(([, sent]) => sent)]) {
    if (JSON.stringify(value).includes('null')) continue;
    const isTaken = problemsIn(shape, value).length === 0;
    expect([value, validate(schema, value).length === 0]).toEqual([value, isTaken]);
    accepted += isTaken ? 1 : 0;
  }
  expect(accepted).toBeGreaterThan(0);
});
