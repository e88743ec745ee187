// This headend behaves as GET /openapi.json says.
import { clientError } from '#headends/shared';
import { Validator } from '@cfworker/json-schema';
import { Validator as OpenApiValidator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { Json, JsonObject, RunId } from '#base';
import type { AnswerPiece, HttpRoute } from '#contracts';
import { openaiRoutes } from '#headends/openai';
import { bodyOf, call, codeOf, makeOutcome, run, serve, spent, startedAt, text } from './driver.ts';

const routes = openaiRoutes(serve().serving, { now: () => startedAt });

const operation = ({ method, path }: Pick<HttpRoute, 'method' | 'path'>): any =>
  routes.find((route) => route.method === method && route.path === path)?.operation;

const misfits = (schema: JsonObject, value: Json): readonly unknown[] =>
  new Validator(schema, '2020-12', false).validate(value).errors;

const replyOf = (operated: any, status: 200 | 'default' = 200): JsonObject =>
  operated.responses[status].content['application/json'].schema;

const chat = operation({ method: 'POST', path: '/v1/chat/completions' });
const create = operation({ method: 'POST', path: '/v1/responses' });
const read = operation({ method: 'GET', path: '/v1/responses/:response' });

test('every route is described in OpenAPI 3.1', async () => {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const { path, method, operation: described } of routes)
    (paths[path.replaceAll(/:(\w+)/gu, '{$1}')] ??= {})[method.toLowerCase()] = described;
  const document = { openapi: '3.1.0', info: { title: 'Cloister', version: '1' }, paths };
  const result = await new OpenApiValidator().validate(JSON.parse(JSON.stringify(document)));
  expect(result).toMatchObject({ valid: true });
  for (const { path, operation: described } of routes) {
    const names = [...path.matchAll(/:(\w+)/gu)].map(([, name]) => name);
    expect(((described['parameters'] ?? []) as any[]).map(({ name }) => name)).toEqual(names);
  }
  const ids = routes.map(({ operation: described }) => described['operationId']);
  expect(new Set(ids).size).toBe(routes.length);
});

const pieces: readonly AnswerPiece[] = [{ type: 'activity', text: 'guide asks map\n' }, ...text('Paris.')];

test.each([
  ['whole', {}],
  ['cut', { outcome: makeOutcome('limit', 'Par', { code: 'agent_limit' }) }],
  ['with activity', { pieces, clients: { activity: true } }],
])('an answer that is %s matches its OpenAPI schema', async (_, scene) => {
  const messages = [{ role: 'user', content: 'Where?' }];
  const completion = await call(serve(scene), 'POST /v1/chat/completions', { body: { model: 'guide', messages } });
  expect(misfits(replyOf(chat), bodyOf(completion))).toEqual([]);
  const response = await call(serve(scene), 'POST /v1/responses', { body: { model: 'guide', input: 'Where?' } });
  expect(misfits(replyOf(create), bodyOf(response))).toEqual([]);
});

test('models, stored responses and errors match their OpenAPI schemas', async () => {
  const report = { run: run as RunId, agent: 'guide', startedAt, endedAt: null, output: '', spent, cells: [] };
  const served = serve({ dialogs: { [run]: [] }, report: { ...report, status: 'running' } });
  const models = operation({ method: 'GET', path: '/v1/models' });
  expect(misfits(replyOf(models), bodyOf(await call(served, 'GET /v1/models')))).toEqual([]);
  const model = operation({ method: 'GET', path: '/v1/models/:model' });
  expect(misfits(replyOf(model), bodyOf(await call(served, 'GET /v1/models/cook')))).toEqual([]);
  expect(misfits(replyOf(read), bodyOf(await call(served, `GET /v1/responses/resp_${run}`)))).toEqual([]);
  const failed = routes[0]!.formatError(clientError(new CloisterError('request_invalid', 'n: no.')), 'req');
  for (const route of routes) expect(misfits(replyOf(route.operation, 'default'), failed)).toEqual([]);
});

const schemaOfRequest = (operated: any): JsonObject => operated.requestBody.content['application/json'].schema;

test.each<readonly [boolean, JsonObject]>([
  [true, { messages: [{ role: 'user', content: [{ type: 'text', text: 'Where?' }] }], stream: true, temperature: 1 }],
  [true, { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: {} } } }],
  [true, { response_format: { type: 'json_object' }, tools: [] }],
  [false, { messages: [] }],
  [false, { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }],
  [false, { tools: [{ type: 'function' }] }],
  [false, { n: 2 }],
  [false, { response_format: { type: 'json_schema', json_schema: { name: 'x' } } }],
])('a chat completion is accepted: %s, and so says the OpenAPI schema: %j', async (taken, part) => {
  const body = { model: 'guide', messages: [{ role: 'user', content: 'Where?' }], ...part };
  expect(misfits(schemaOfRequest(chat), body).length === 0).toBe(taken);
  const reply = call(serve(), 'POST /v1/chat/completions', { body });
  expect((await codeOf(reply)) === 'none').toBe(taken);
});

test.each<readonly [boolean, JsonObject]>([
  [true, { input: 'Where?', text: { format: { type: 'text' } } }],
  [true, { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Where?' }] }], store: false }],
  [
    true,
    {
      input: [
        { type: 'reasoning', summary: [] },
        { type: 'message', role: 'user', content: 'Where?' },
      ],
    },
  ],
  [true, { text: { format: { type: 'json_schema', name: 'x', schema: {} } } }],
  [false, { input: [] }],
  [false, { input: 4 }],
  [false, { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }],
  [false, { text: { format: { type: 'json_schema', name: 'x' } } }],
])('a request for a response is accepted: %s, and so says the OpenAPI schema: %j', async (taken, part) => {
  const body = { model: 'guide', input: 'Where?', ...part };
  expect(misfits(schemaOfRequest(create), body).length === 0).toBe(taken);
  const reply = call(serve(), 'POST /v1/responses', { body });
  expect((await codeOf(reply)) === 'none').toBe(taken);
});
