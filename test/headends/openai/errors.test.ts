import { clientError, httpStatus } from '#headends/shared';
import { expect, test } from 'vitest';
import { CloisterError, errorCatalogue } from '#base';
import type { ErrorCode } from '#base';
import { openaiRoutes } from '#headends/openai';
import { bodyOf, call, serve } from './driver.ts';

const { formatError } = openaiRoutes(serve().serving, { now: () => 0 })[0]!;
const errorBody = (code: ErrorCode, detail?: string): any =>
  formatError(clientError(new CloisterError(code, detail)), 'req');

test('every failure has a type, a code and a message that says what to do', () => {
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    const { error } = errorBody(code);
    const { summary, suggestion } = errorCatalogue[code];
    expect(error).toEqual({
      message: `${summary} ${suggestion}`,
      type: expect.stringMatching(/^[a-z_]+$/u),
      param: null,
      code: expect.stringMatching(/^[a-z_]+$/u),
    });
    expect(error.type === 'server_error').toBe(httpStatus(code) >= 500);
  }
});

test.each<readonly [ErrorCode, string, string]>([
  ['request_invalid', 'invalid_request_error', 'request_invalid'],
  ['request_unsupported', 'invalid_request_error', 'request_unsupported'],
  ['agent_unknown', 'invalid_request_error', 'model_not_found'],
  ['token_refused', 'authentication_error', 'invalid_api_key'],
  ['origin_refused', 'permission_error', 'origin_refused'],
  ['rate_exceeded', 'rate_limit_error', 'rate_limit_exceeded'],
  ['server_busy', 'rate_limit_error', 'rate_limit_exceeded'],
  ['allowance_used', 'insufficient_quota', 'insufficient_quota'],
  ['budget_refused', 'insufficient_quota', 'insufficient_quota'],
  ['window_full', 'invalid_request_error', 'context_length_exceeded'],
  ['model_auth', 'server_error', 'model_auth'],
  ['defect', 'server_error', 'defect'],
])('%s becomes %s, %s', (code, type, openai) => {
  expect(errorBody(code).error).toMatchObject({ type, code: openai });
});

test('the detail of a request error is shown, that of an internal error is not', () => {
  expect(errorBody('request_invalid', 'n: expected a number; got "x".').error.message).toContain(
    'n: expected a number',
  );
  expect(errorBody('store_failed', '/home/me').error.message).not.toContain('/home/me');
});

test.each<readonly [ErrorCode, string | undefined, string | null]>([
  ['request_invalid', 'n: expected a number; got "x".', 'n'],
  ['request_unsupported', 'input[0].content[12].type: only text can be sent.', 'input[0].content[12].type'],
  ['request_invalid', 'messages: needs at least one message.', 'messages'],
  ['request_invalid', 'The body: expected a JSON object; got nothing.', null],
  ['request_invalid', 'Set either `to` or `topic`, not both.', null],
  ['request_invalid', 'No run waits for a result of "x: y".', null],
  ['request_invalid', undefined, null],
  ['run_unknown', 'previous_response_id: unknown id.', null],
])('%s, %j: the field is %j', (code, detail, param) => {
  expect(errorBody(code, detail).error.param).toBe(param);
});

test('the agents of the caller are models', async () => {
  const served = serve();
  const list = bodyOf(await call(served, 'GET /v1/models'));
  expect(list).toEqual({
    object: 'list',
    data: ['guide', 'cook'].map((id) => ({
      id,
      object: 'model',
      created: 1_700_000_000,
      owned_by: 'cloister',
      description: `It is ${id}.`,
    })),
  });
  expect(bodyOf(await call(served, 'GET /v1/models/cook'))).toEqual((list['data'] as unknown[])[1]);
  await expect(call(served, 'GET /v1/models/secret')).rejects.toMatchObject({ code: 'agent_unknown' });
});
