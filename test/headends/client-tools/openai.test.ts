// OpenAI's client, unchanged, with functions of its own.
import OpenAI from 'openai';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, test } from 'vitest';
import type { RunSummary } from '#contracts';
import { serveAgents } from '../http/driver.ts';
import type { ServedAgents } from '../http/driver.ts';
import { scriptAgents, time, scriptedUsage, weather } from './scripted-agents.ts';

const openClient = async (tools = true): Promise<ServedAgents & { readonly client: OpenAI }> => {
  const served = await serveAgents({ agents: scriptAgents().agents, clients: { tools } });
  return { ...served, client: new OpenAI({ baseURL: `${served.url}/v1`, apiKey: served.token, maxRetries: 0 }) };
};

type Message = OpenAI.ChatCompletionMessageParam;
const ask = (content: string): Message => ({ role: 'user', content });

const chatTools = [weather, time].map(({ name, description, schema }): OpenAI.ChatCompletionTool => ({
  type: 'function',
  function: { name, description, parameters: schema },
}));

const responseTools = [weather, time].map(({ name, description, schema }): OpenAI.Responses.FunctionTool => ({
  type: 'function',
  name,
  description,
  parameters: schema,
  strict: false,
}));

const isFunction = (call: OpenAI.ChatCompletionMessageToolCall): call is OpenAI.ChatCompletionMessageFunctionToolCall =>
  call.type === 'function';

/** What a client does with a call. */
const toolResult = (name: string, args: string): string => `${name} of ${(JSON.parse(args) as { text: string }).text}`;

describe('chat completions', () => {
  test('end with tool calls and continue with their results until there is an answer', async () => {
    const { client, cloister } = await openClient();
    const messages: Message[] = [ask('weather:Lisbon, time:now; weather:Porto')];
    const finishes: string[] = [];
    const ids = new Set<string>();
    for (;;) {
      const completion = await client.chat.completions.create({ model: 'guide', messages, tools: chatTools });
      const { message, finish_reason } = completion.choices[0]!;
      finishes.push(finish_reason);
      ids.add(completion.id);
      expect(completion.usage).toMatchObject({
        prompt_tokens: scriptedUsage.input,
        completion_tokens: scriptedUsage.output,
      });
      messages.push(message);
      if (message.tool_calls === undefined) break;
      expect(message.content).toBe(`Round ${finishes.length}.`);
      for (const call of message.tool_calls.filter(isFunction)) {
        const { name, arguments: args } = call.function;
        messages.push({ role: 'tool', tool_call_id: call.id, content: toolResult(name, args) });
      }
    }
    expect(finishes).toEqual(['tool_calls', 'tool_calls', 'stop']);
    expect(messages.at(-1)!.content).toBe('Told: weather of Lisbon | time of now | weather of Porto');
    expect(ids.size).toBe(3);
    const [{ run, status }] = (await cloister.runs()) as readonly [RunSummary];
    expect(status).toBe('completed');
    expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
    expect(await cloister.replay(run)).toMatchObject({ ok: true, differences: [] });
    // A new request repeats the earlier messages and calls.
    const next = await client.chat.completions.create({
      model: 'guide',
      messages: [...messages, ask('time:later')],
      tools: chatTools,
    });
    expect(next.choices[0]!.finish_reason).toBe('tool_calls');
    expect(await cloister.runs()).toHaveLength(2);
  });

  test('continue when streamed, as the client assembles them', async () => {
    const { client } = await openClient();
    const runner = client.chat.completions.runTools({
      model: 'guide',
      stream: true,
      messages: [ask('weather:Lisbon, time:now; weather:Porto')],
      tools: [weather, time].map(({ name, description, schema }) => ({
        type: 'function' as const,
        function: {
          name,
          description,
          parameters: { ...schema, required: [...schema.required] },
          parse: JSON.parse as (text: string) => { text: string },
          function: ({ text }: { text: string }) => `${name} of ${text}`,
        },
      })),
    });
    expect(await runner.finalContent()).toBe('Told: weather of Lisbon | time of now | weather of Porto');
    const said = runner.messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));
    expect(said.slice(0, 2)).toEqual(['Round 1.', 'Round 2.']);
  });
});

describe('responses', () => {
  const outputsOf = (response: OpenAI.Responses.Response): ResponseInputItem[] =>
    response.output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output', call_id: item.call_id, output: toolResult(item.name, item.arguments) }]
        : [],
    );

  test('continue from the previous response and end with the answer', async () => {
    const { client } = await openClient();
    const common = { model: 'guide', tools: responseTools };
    const first = await client.responses.create({ ...common, input: 'weather:Lisbon, time:now' });
    expect(first.output.map(({ type }) => type)).toEqual(['message', 'function_call', 'function_call']);
    expect(first).toMatchObject({
      status: 'completed',
      output_text: 'Round 1.',
      usage: { input_tokens: scriptedUsage.input },
    });
    const input = outputsOf(first);
    const second = await client.responses.create({ ...common, previous_response_id: first.id, input });
    expect(second).toMatchObject({
      status: 'completed',
      output_text: 'Told: weather of Lisbon | time of now',
      usage: { input_tokens: scriptedUsage.input },
    });
    const third = await client.responses.create({ ...common, previous_response_id: second.id, input: 'time:x' });
    expect(outputsOf(third)).toHaveLength(1);
  });

  test('can all be read again unchanged; a response that the run never gave is unknown', async () => {
    const { client } = await openClient();
    const common = { model: 'guide', tools: responseTools };
    const first = await client.responses.create({ ...common, input: 'weather:Lisbon' });
    const unknown = { status: 404, type: 'invalid_request_error', code: 'run_unknown' };
    const next = first.id.replace(/_1$/u, '_2');
    await expect(client.responses.retrieve(next)).rejects.toMatchObject(unknown);
    expect(outputsOf(await client.responses.retrieve(first.id))).toEqual(outputsOf(first));
    const second = await client.responses.create({ ...common, input: outputsOf(first) });
    expect(second.id).toBe(next);
    for (const one of [first, second])
      expect(await client.responses.retrieve(one.id)).toMatchObject({
        id: one.id,
        status: 'completed',
        output: one.output,
        output_text: one.output_text,
        usage: one.usage,
      });

    const direct = await client.responses.create({ ...common, input: 'helper:x' });
    expect(direct.output_text).toContain('helped x');
    const again = await client.responses.retrieve(direct.id);
    expect([again.id, again.output_text]).toEqual([direct.id, direct.output_text]);
  });

  test('continue with the whole dialog, streamed', async () => {
    const { client } = await openClient();
    const input: ResponseInputItem[] = [{ role: 'user', content: 'weather:Lisbon; time:now' }];
    const texts: string[] = [];
    for (let left = 3; left > 0; left--) {
      const stream = client.responses.stream({ model: 'guide', tools: responseTools, input, store: false });
      let args = '';
      for await (const event of stream)
        if (event.type === 'response.function_call_arguments.delta') args += event.delta;
      const response = await stream.finalResponse();
      texts.push(response.output_text);
      const calls = response.output.filter((item) => item.type === 'function_call');
      expect(args).toBe(calls.map((call) => call.arguments).join(''));
      input.push(...(response.output as ResponseInputItem[]), ...outputsOf(response));
    }
    expect(texts).toEqual(['Round 1.', 'Round 2.', 'Told: weather of Lisbon | time of now']);
  });
});
