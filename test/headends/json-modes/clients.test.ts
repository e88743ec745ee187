// Every protocol delivers the JSON value and nothing around it, in each of its ways to ask for JSON, with the operator's defaults.
import Anthropic from '@anthropic-ai/sdk';
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { lisbon, place, placeSchema, question, servePlace } from './place.ts';

const json = JSON.stringify(lisbon);
const messages = [{ role: 'user' as const, content: question }];

describe('OpenAI', () => {
  const open = async () => {
    const served = await servePlace();
    const client = new OpenAI({ baseURL: `${served.url}/v1`, apiKey: served.token, maxRetries: 0 });
    return { ...served, client };
  };
  const named = { type: 'function' as const, function: { name: 'place' } };
  const tool = {
    type: 'function' as const,
    function: { name: 'place', description: 'A place.', parameters: placeSchema },
  };

  test('parse, streamed or not', async () => {
    const { client } = await open();
    const asked = { model: 'guide', messages, response_format: zodResponseFormat(place, 'place') };
    const { choices } = await client.chat.completions.parse(asked);
    expect(choices[0]?.message).toMatchObject({ content: json, parsed: lisbon });
    const stream = client.chat.completions.stream(asked);
    const pieces: string[] = [];
    stream.on('content', (piece) => pieces.push(piece));
    expect(await stream.finalContent()).toBe(json);
    expect(pieces.filter((piece) => piece !== '')).toEqual([json]);
    const input = { model: 'guide', input: question, text: { format: zodTextFormat(place, 'place') } };
    expect((await client.responses.parse(input)).output_parsed).toEqual(lisbon);
    expect((await client.responses.stream(input).finalResponse()).output_parsed).toEqual(lisbon);
  });

  test('a JSON object: any, or one that fits the agent’s own schema', async () => {
    const { client, model } = await open();
    for (const agent of ['guide', 'atlas']) {
      const asked = { model: agent, messages, response_format: { type: 'json_object' as const } };
      const { choices } = await client.chat.completions.create(asked);
      expect(choices[0]?.message.content).toBe(json);
      const text = { format: { type: 'json_object' as const } };
      expect((await client.responses.create({ model: agent, input: question, text })).output_text).toBe(json);
    }
    expect(model.requests[0]?.prompt[0]).toMatchObject({ content: expect.stringContaining('{"type":"object"}') });
  });

  test.each([
    ['by name', named],
    ['as the only one', 'required' as const],
  ])('a function that is forced %s is answered by a call', async (_, tool_choice) => {
    const { client } = await open();
    for (const model of ['guide', 'atlas']) {
      const asked = { model, messages, tools: [tool], tool_choice };
      const call = { type: 'function', function: { name: 'place', arguments: json } };
      const { choices } = await client.chat.completions.create(asked);
      expect(choices).toMatchObject([{ message: { content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }]);
      const message = await client.chat.completions.stream(asked).finalMessage();
      expect(message.tool_calls).toMatchObject([call]);
      expect(message.content ?? '').toBe('');
    }
  });

  test('responses answer a forced function by a call, streamed or not', async () => {
    const { client } = await open();
    const tools = [{ type: 'function' as const, name: 'place', parameters: placeSchema, strict: true }];
    const asked = { model: 'guide', input: question, tools, tool_choice: { type: 'function' as const, name: 'place' } };
    const item = { type: 'function_call', name: 'place', arguments: json, status: 'completed' };
    expect((await client.responses.create(asked)).output).toMatchObject([item]);
    expect((await client.responses.stream(asked).finalResponse()).output).toMatchObject([item]);
  });

  test('a function that is not forced, or not the only one, is refused as before', async () => {
    const { client } = await open();
    const other = { ...tool, function: { ...tool.function, name: 'other' } };
    for (const more of [
      { tools: [tool] },
      { tools: [tool, other], tool_choice: named },
      { tools: [other], tool_choice: named },
      { tool_choice: 'required' as const },
    ])
      await expect(client.chat.completions.create({ model: 'guide', messages, ...more })).rejects.toMatchObject({
        status: 400,
      });
    const twice = { tools: [tool], tool_choice: named, response_format: { type: 'json_object' as const } };
    await expect(client.chat.completions.create({ model: 'guide', messages, ...twice })).rejects.toThrow(
      /response_format: cannot be combined with a forced tool/u,
    );
  });

  test('arguments that do not fit are an error, not a call', async () => {
    const { client } = await open();
    const parameters = { type: 'object', required: ['river'] };
    const tools = [{ ...tool, function: { ...tool.function, parameters } }];
    const refused = client.chat.completions.create({ model: 'guide', messages, tools, tool_choice: 'required' });
    await expect(refused).rejects.toMatchObject({ code: 'answer_schema' });
  });
});

describe('Anthropic', () => {
  const open = async () => {
    const { url, token } = await servePlace();
    return new Anthropic({ baseURL: url, apiKey: token, authToken: null, maxRetries: 0 });
  };
  const asked = { model: 'guide', max_tokens: 1024, messages };

  test('parse, streamed or not', async () => {
    const client = await open();
    const output_config = { format: zodOutputFormat(place) };
    expect((await client.messages.parse({ ...asked, output_config })).parsed_output).toEqual(lisbon);
    const stream = client.messages.stream({ ...asked, output_config });
    const pieces: string[] = [];
    stream.on('text', (piece) => pieces.push(piece));
    expect((await stream.finalMessage()).parsed_output).toEqual(lisbon);
    expect(pieces).toEqual([json]);
  });

  test.each([
    ['by name', { type: 'tool' as const, name: 'place', disable_parallel_tool_use: true }],
    ['as the only one', { type: 'any' as const }],
  ])('a tool that is forced %s is answered by a call', async (_, tool_choice) => {
    const client = await open();
    const tools = [
      { name: 'place', description: 'A place.', input_schema: { ...placeSchema, required: ['city', 'people'] } },
    ];
    for (const model of ['guide', 'atlas']) {
      const body = { ...asked, model, tools, tool_choice };
      const message = { content: [{ type: 'tool_use', name: 'place', input: lisbon }], stop_reason: 'tool_use' };
      expect(await client.messages.create(body)).toMatchObject(message);
      expect(await client.messages.stream(body).finalMessage()).toMatchObject(message);
    }
  });
});

test('REST: the output is the JSON, and a stream sends it in one piece', async () => {
  const { ask } = await servePlace();
  const body = { input: question, format: 'json', schema: placeSchema };
  expect(await (await ask('/v1/guide', { json: body })).json()).toMatchObject({ output: json, data: lisbon });
  const events = await (await ask('/v1/atlas', { json: { input: question, stream: true } })).text();
  const texts = [...events.matchAll(/^data: (?<event>.*"type":"text-delta".*)$/gmu)];
  expect(texts.map(({ groups }) => (JSON.parse(groups!['event']!) as { text: string }).text)).toEqual([json]);
  // The reply of the model is nobody's business but its agent's.
  expect(events).not.toContain('Anything else');
});

describe('MCP', () => {
  const open = async () => {
    const served = await servePlace();
    const client = new Client({ name: 'test', version: '1' });
    const headers = { authorization: `Bearer ${served.token}` };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${served.url}/mcp`), { requestInit: { headers } }));
    return { ...served, client };
  };

  test('the text and the data are the JSON, whoever wrote the schema', async () => {
    const { client } = await open();
    const call = (name: string, more: object = {}) =>
      client.callTool({ name, arguments: { prompt: question, ...more } });
    const expected = { content: [{ type: 'text', text: json }], structuredContent: lisbon };
    expect(await call('guide', { format: 'json', schema: placeSchema })).toMatchObject(expected);
    expect(await call('atlas')).toMatchObject(expected);
    await client.close();
  });

  test('the schema of a call adds to the agent’s own: both must hold', async () => {
    const { client, model } = await open();
    const call = (schema: object) => client.callTool({ name: 'atlas', arguments: { prompt: question, schema } });
    expect(await call({ properties: { city: { const: 'Lisbon' } } })).toMatchObject({ structuredContent: lisbon });
    expect(JSON.stringify(model.requests[0])).toMatch(/allOf.*people.*const/u);
    expect(await call({ properties: { city: { const: 'Porto' } } })).toMatchObject({ isError: true });
    await client.close();
  });
});
