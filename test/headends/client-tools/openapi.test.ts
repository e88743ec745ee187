// With client tools allowed, requests and answers match GET /openapi.json.
import { Validator } from '@cfworker/json-schema';
import { Validator as OpenApiValidator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import type { Json, JsonObject } from '#base';
import { serveTools } from '../../app/serve/client-driver.ts';
import { getRequest } from '../../app/serve/local-requests.ts';
import { scriptAgents, weather } from './scripted-agents.ts';

const { name, description, schema } = weather;
const say = { role: 'user', content: 'weather:a' };
const common = { model: 'guide', max_tokens: 9 };

/** A request with a tool, and the request that returns its result. */
const dialogs: Readonly<Record<string, { first: JsonObject; second(answer: any): JsonObject }>> = {
  '/v1/chat/completions': {
    first: { messages: [say], tools: [{ type: 'function', function: { name, description, parameters: schema } }] },
    second: ({ choices: [{ message }] }) => ({
      messages: [say, message, { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'sun' }],
    }),
  },
  '/v1/responses': {
    first: { input: 'weather:a', tools: [{ type: 'function', name, description, parameters: schema }] },
    second: ({ id, output }) => ({
      previous_response_id: id,
      input: [{ type: 'function_call_output', call_id: output.at(-1).call_id, output: 'sun' }],
    }),
  },
  '/v1/messages': {
    first: { messages: [say], tools: [{ name, description, input_schema: schema }] },
    second: ({ content }) => ({
      messages: [
        say,
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: content.at(-1).id, content: 'sun' }] },
      ],
    }),
  },
};

test.each(Object.entries(dialogs))('%s', async (path, { first, second }) => {
  const served = await serveTools({ agents: scriptAgents().agents });
  const document = (await (await served.server.fetch(getRequest('/openapi.json', 'me'))).json()) as any;
  expect(await new OpenApiValidator().validate(structuredClone(document))).toMatchObject({ valid: true });
  const operation = document.paths[path].post;
  const misfits = (of: any, value: Json): readonly unknown[] => {
    const root = { ...of.content['application/json'].schema, components: document.components };
    return new Validator(root, '2020-12', false).validate(value).errors;
  };
  const ask = async (body: JsonObject): Promise<any> => {
    expect(misfits(operation.requestBody, body)).toEqual([]);
    const response = await served.send(path, body);
    const answer = (await response.json()) as Json;
    expect([response.status, misfits(operation.responses['200'], answer)]).toEqual([200, []]);
    return answer;
  };
  const answer = await ask({ ...common, ...first });
  expect(JSON.stringify(await ask({ ...common, ...second(answer) }))).toContain('Told: sun');
});
