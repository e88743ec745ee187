// OpenAI's own client, unchanged, against served agents.
import { once } from 'node:events';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import type { ClientRules, Spent } from '#contracts';
import type { ServerLine } from 'cloister';
import { answer, scriptAgents, placeSchema, scriptedUsage } from './scripted-agents.ts';
import { serveAgents } from '../http/driver.ts';

const scripted = scriptAgents();

const clientOf = async (clients: Partial<ClientRules> = {}): Promise<OpenAI> => {
  const { url, token } = await serveAgents({ agents: scripted.agents, clients });
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: token });
};
/** With more allowed by the operator. */
const allowedClient = (): Promise<OpenAI> => clientOf({ system: true, activity: true });

const messages = [{ role: 'user' as const, content: 'Where is Lisbon?' }];
const streamed = `Let me ask.\n\n${answer}`;

const chatUsage = {
  prompt_tokens: scriptedUsage.input,
  completion_tokens: scriptedUsage.output,
  total_tokens: scriptedUsage.input + scriptedUsage.output,
  prompt_tokens_details: { cached_tokens: scriptedUsage.cacheRead, cache_write_tokens: scriptedUsage.cacheWrite },
};

const responseUsage = {
  input_tokens: scriptedUsage.input,
  output_tokens: scriptedUsage.output,
  total_tokens: scriptedUsage.input + scriptedUsage.output,
  input_tokens_details: { cached_tokens: scriptedUsage.cacheRead, cache_write_tokens: scriptedUsage.cacheWrite },
};

/** The output of a response as input of the next request. */
const asInput = ({ output }: { readonly output: readonly object[] }): OpenAI.Responses.ResponseInput =>
  output as OpenAI.Responses.ResponseInput;

const requestsOf = (agent: string): number =>
  scripted.model.requests.filter(({ prompt }) => JSON.stringify(prompt[0]).includes(`\\"${agent}\\"`)).length;

test('usage is what the run spent, to the token', async () => {
  const spent: Spent[] = [];
  const log = (line: ServerLine): void => void (line.type === 'run' && spent.push(line.outcome.spent));
  const { url, token } = await serveAgents({ agents: scripted.agents, log });
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token });
  for (const model of ['lead', 'mirror', 'atlas']) {
    const { usage } = await client.chat.completions.create({ model, messages });
    const response = await client.responses.create({ model, input: 'Where is Lisbon?' });
    const stream = client.responses.stream({ model, input: 'Where is Lisbon?' });
    const told = [response.usage, (await stream.finalResponse()).usage];
    const [first, ...others] = spent.splice(0).map(({ inputTokens, outputTokens }) => [inputTokens, outputTokens]);
    expect([usage?.prompt_tokens, usage?.completion_tokens]).toEqual(first);
    expect(told.map((each) => [each?.input_tokens, each?.output_tokens])).toEqual(others);
    expect(first?.every((tokens) => tokens > 0)).toBe(true);
  }
});

test('agents are listed and found as models', async () => {
  const client = await clientOf();
  const { data } = await client.models.list();
  expect(data.map(({ id }) => id)).toEqual(scripted.agents.map(({ name }) => name));
  expect(await client.models.retrieve('lead')).toEqual(data[0]);
  await expect(client.models.retrieve('nobody')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

describe('chat completions', () => {
  test('return the answer, the usage of the whole run, and the id of the request', async () => {
    const client = await clientOf();
    const { data, response, request_id } = await client.chat.completions
      .create({ model: 'lead', messages, temperature: 0.3, max_tokens: 9, user: 'u', seed: 1, store: true })
      .withResponse();
    expect(data).toMatchObject({
      object: 'chat.completion',
      model: 'lead',
      choices: [{ index: 0, message: { role: 'assistant', content: answer }, finish_reason: 'stop' }],
      usage: chatUsage,
    });
    expect(data.id).toMatch(/^chatcmpl-/u);
    expect(request_id).toBe(response.headers.get('x-request-id'));
    expect(request_id).toMatch(/^req_/u);
  });

  test('stream every text of the agent, and no text can forge an event', async () => {
    const client = await clientOf();
    const stream = await client.chat.completions.create({
      model: 'lead',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe(streamed);
    expect(chunks.length).toBeGreaterThan(8);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(chunks.flatMap(({ choices }) => choices.map(({ finish_reason }) => finish_reason)).at(-1)).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: chatUsage });
  });

  test('are assembled by the stream helper', async () => {
    const client = await clientOf();
    const stream = client.chat.completions.stream({ model: 'lead', messages, stream_options: { include_usage: true } });
    expect(await stream.finalContent()).toBe(streamed);
    expect(await stream.totalUsage()).toMatchObject(chatUsage);
  });

  test('hold only JSON that matches the schema, streamed or not', async () => {
    const client = await clientOf();
    const response_format = {
      type: 'json_schema' as const,
      json_schema: { name: 'place', strict: true, schema: placeSchema },
    };
    const whole = await client.chat.completions.create({ model: 'atlas', messages, response_format });
    expect(JSON.parse(whole.choices[0]?.message.content ?? '')).toEqual({ city: 'Lisbon', people: 545_796 });
    // The schema reached the model.
    expect(JSON.stringify(scripted.model.requests.at(-1))).toContain('people');
    const parts = client.chat.completions.stream({ model: 'atlas', messages, response_format });
    expect(JSON.parse((await parts.finalContent()) ?? '')).toEqual({ city: 'Lisbon', people: 545_796 });
  });

  test('an answer that does not match the schema is an error', async () => {
    const client = await clientOf();
    const schema = { type: 'object', required: ['river'] };
    const asked = client.chat.completions.create({
      model: 'atlas',
      messages,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    });
    await expect(asked).rejects.toBeInstanceOf(OpenAI.UnprocessableEntityError);
    await expect(asked).rejects.toMatchObject({ code: 'answer_schema', type: 'invalid_request_error' });
  });

  test('an agent with JSON input receives it as text', async () => {
    const client = await clientOf();
    const ask = (content: string) =>
      client.chat.completions.create({ model: 'clerk', messages: [{ role: 'user', content }] });
    const { choices } = await ask('{"city":"Lisbon","people":1}');
    expect(choices[0]?.message.content).toContain('Lisbon');
    await expect(ask('{"city":"Lisbon"}')).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(ask('Lisbon')).rejects.toBeInstanceOf(OpenAI.BadRequestError);
  });

  test('earlier messages are shown to the agent as a dialog', async () => {
    const client = await clientOf();
    const { choices } = await client.chat.completions.create({
      model: 'mirror',
      messages: [
        { role: 'user', content: 'My name is Ann.' },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello Ann.' }] },
        { role: 'user', content: [{ type: 'text', text: 'What is it?' }] },
      ],
    });
    const shown = choices[0]?.message.content ?? '';
    for (const text of ['My name is Ann.', 'Hello Ann.', 'What is it?']) expect(shown).toContain(text);
    expect(shown.slice(0, shown.indexOf('</system>'))).not.toContain('Ann');
  });

  test('a system prompt is refused, or becomes context if that is allowed', async () => {
    const allowed = await allowedClient();
    const client = await clientOf();
    const asked = {
      model: 'mirror',
      messages: [{ role: 'system' as const, content: 'Talk like a pirate.' }, ...messages],
    };
    await expect(client.chat.completions.create(asked)).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    const { choices } = await allowed.chat.completions.create(asked);
    const shown = choices[0]?.message.content ?? '';
    expect(shown).toContain('Talk like a pirate.');
    expect(shown.slice(0, shown.indexOf('</system>'))).not.toContain('pirate');
  });

  test('aborting a stream cancels the whole run', async () => {
    const client = await clientOf();
    const hangs = once(scripted.hung, 'hangs');
    const stream = await client.chat.completions.create({ model: 'slow', messages, stream: true });
    const [signal] = (await hangs) as [AbortSignal];
    const cancelled = signal.aborted ? undefined : once(signal, 'abort');
    let said = '';
    for await (const chunk of stream) {
      said += chunk.choices[0]?.delta.content ?? '';
      if (said !== '') stream.controller.abort();
    }
    await cancelled;
    expect(signal.aborted).toBe(true);
    expect('One moment.'.startsWith(said)).toBe(true);
  });

  test('that are incomplete have the finish reason length', async () => {
    const client = await clientOf();
    const whole = await client.chat.completions.create({ model: 'tired', messages });
    expect(whole.choices).toMatchObject([{ message: { content: 'As far as I got.' }, finish_reason: 'length' }]);
    const stream = client.chat.completions.stream({ model: 'tired', messages });
    expect(await stream.finalContent()).toBe('As far as I got.');
    expect((await stream.finalChatCompletion()).choices[0]?.finish_reason).toBe('length');
  });

  test('the activity of sub-agents is reasoning, if the operator shows it', async () => {
    const allowed = await allowedClient();
    const whole = await allowed.chat.completions.create({ model: 'lead', messages });
    expect(whole.choices[0]?.message).toMatchObject({
      content: answer,
      reasoning_content: expect.stringContaining('researcher'),
    });
    let thought = '';
    let said = '';
    for await (const { choices } of await allowed.chat.completions.create({ model: 'lead', messages, stream: true })) {
      const delta = choices[0]?.delta as { content?: string; reasoning_content?: string } | undefined;
      thought += delta?.reasoning_content ?? '';
      said += delta?.content ?? '';
    }
    expect(whole.choices[0]?.message).toMatchObject({ reasoning_content: thought });
    expect(said).toBe(streamed);
  });
});

describe('errors become the client’s own error classes', () => {
  const ask = (client: OpenAI, more: object = {}) =>
    client.chat.completions.create({
      model: 'lead',
      messages,
      ...more,
    } as OpenAI.ChatCompletionCreateParamsNonStreaming);

  test('a wrong key', async () => {
    const client = (await clientOf()).withOptions({ apiKey: 'sk-wrong' });
    await expect(ask(client)).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await expect(ask(client)).rejects.toMatchObject({ status: 401, code: 'invalid_api_key' });
    await expect(client.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });

  test('an unknown agent', async () => {
    const client = await clientOf();
    await expect(ask(client, { model: 'leda' })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    await expect(ask(client, { model: 'leda' })).rejects.toMatchObject({
      code: 'model_not_found',
      message: expect.stringContaining('lead'),
    });
  });

  test.each([
    { tools: [{ type: 'function', function: { name: 'f' } }] },
    { n: 3 },
    { messages: [] },
    { messages: 'Hi' },
  ])('an unsupported request: %j', async (more) => {
    const client = await clientOf();
    const [field = ''] = Object.keys(more);
    await expect(ask(client, more)).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    await expect(ask(client, more)).rejects.toMatchObject({
      type: 'invalid_request_error',
      message: expect.stringContaining(`${field}: `),
    });
  });

  test('no free slot, and a full queue', async () => {
    const hangs = once(scripted.hung, 'hangs');
    const { url, token } = await serveAgents({ agents: scripted.agents, slots: { running: 1, waiting: 0 } });
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
    const taken = await client.chat.completions.create({ model: 'slow', messages, stream: true });
    await hangs;
    const error: unknown = await ask(client).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ code: 'rate_limit_exceeded', type: 'rate_limit_error' });
    expect((error as InstanceType<typeof OpenAI.RateLimitError>).headers.get('retry-after')).toMatch(/^\d+$/u);
    taken.controller.abort();
  });

  test('a page of a foreign origin', async () => {
    const client = (await clientOf()).withOptions({ defaultHeaders: { origin: 'https://elsewhere.example' } });
    await expect(ask(client)).rejects.toBeInstanceOf(OpenAI.PermissionDeniedError);
  });

  test('an input that is too long for the agent', async () => {
    const client = await clientOf();
    const long = [{ role: 'user', content: 'and '.repeat(20_000) }];
    await expect(ask(client, { model: 'narrow', messages: long })).rejects.toMatchObject({
      constructor: OpenAI.UnprocessableEntityError,
      code: 'context_length_exceeded',
    });
  });

  test('a budget that is too small', async () => {
    const client = await clientOf();
    await expect(ask(client, { model: 'poor' })).rejects.toMatchObject({
      constructor: OpenAI.RateLimitError,
      code: 'insufficient_quota',
    });
  });

  test('a run that fails, which is not retried', async () => {
    const client = await clientOf();
    const before = requestsOf('broken');
    await expect(ask(client, { model: 'broken' })).rejects.toMatchObject({
      constructor: OpenAI.InternalServerError,
      status: 502,
      type: 'server_error',
      code: 'model_request',
    });
    // The client retries a 5xx by default.
    expect(requestsOf('broken')).toBe(before + 1);
  });

  test('a stream that breaks off', async () => {
    const client = await clientOf();
    const stream = await client.chat.completions.create({ model: 'late', messages, stream: true });
    let said = '';
    const read = async (): Promise<void> => {
      for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? '';
    };
    await expect(read()).rejects.toMatchObject({
      constructor: OpenAI.APIError,
      code: 'model_request',
      type: 'server_error',
    });
    expect(said).toBe('So far so good.');
  });
});

describe('responses', () => {
  test('return the answer and the usage of the whole run, and can be read again', async () => {
    const allowed = await allowedClient();
    const client = await clientOf();
    const response = await client.responses.create({ model: 'lead', input: 'Where is Lisbon?', store: false });
    expect(response).toMatchObject({ object: 'response', status: 'completed', model: 'lead', usage: responseUsage });
    expect(response.output_text).toBe(answer);
    expect(response.id).toMatch(/^resp_/u);
    const again = await client.responses.retrieve(response.id);
    expect(again).toMatchObject({
      id: response.id,
      status: 'completed',
      output: response.output,
      usage: responseUsage,
    });
    await expect(allowed.responses.retrieve(response.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test('stream their events, which the helper assembles', async () => {
    const client = await clientOf();
    const stream = client.responses.stream({ model: 'lead', input: 'Where is Lisbon?' });
    const types: string[] = [];
    let said = '';
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') said += event.delta;
    }
    expect(types.filter((type, place) => type !== types[place - 1])).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const last = await stream.finalResponse();
    expect(said).toBe(streamed);
    expect(last).toMatchObject({ status: 'completed', output_text: streamed, usage: responseUsage });
  });

  test('continue from one another', async () => {
    const client = await clientOf();
    const first = await client.responses.create({ model: 'lead', input: 'Where is Lisbon?' });
    const ask = (more: object) => client.responses.create({ model: 'mirror', input: 'And Porto?', ...more });
    const second = await ask({ previous_response_id: first.id });
    for (const text of ['Where is Lisbon?', answer, 'And Porto?']) expect(second.output_text).toContain(text);
    const third = await client.responses.create({
      model: 'mirror',
      input: 'And Faro?',
      previous_response_id: second.id,
    });
    for (const text of ['Where is Lisbon?', 'And Porto?', 'And Faro?']) expect(third.output_text).toContain(text);
    // Its own output, sent back.
    const fourth = await client.responses.create({
      model: 'mirror',
      input: [{ role: 'user', content: 'First' }, ...asInput(first), { role: 'user', content: 'Last' }],
    });
    for (const text of ['First', answer, 'Last']) expect(fourth.output_text).toContain(text);
    await expect(ask({ previous_response_id: 'resp_unknown' })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test('hold JSON that matches a schema', async () => {
    const client = await clientOf();
    const format = { type: 'json_schema' as const, name: 'place', strict: true, schema: placeSchema };
    const body = { model: 'atlas', input: 'Lisbon', text: { format } };
    const whole = await client.responses.parse(body);
    expect(whole.output_parsed).toEqual({ city: 'Lisbon', people: 545_796 });
    const parts = await client.responses.stream(body).finalResponse();
    expect(parts.output_parsed).toEqual({ city: 'Lisbon', people: 545_796 });
  });

  test('pass on their instructions only if that is allowed', async () => {
    const allowed = await allowedClient();
    const client = await clientOf();
    const body = { model: 'mirror', input: 'Hi', instructions: 'Talk like a pirate.' };
    await expect(client.responses.create(body)).rejects.toBeInstanceOf(OpenAI.BadRequestError);
    const { output_text: shown } = await allowed.responses.create(body);
    expect(shown).toContain('pirate');
    expect(shown.slice(0, shown.indexOf('</system>'))).not.toContain('pirate');
  });

  test('that fail report it, before and after they start', async () => {
    const client = await clientOf();
    await expect(client.responses.create({ model: 'broken', input: 'Hi' })).rejects.toMatchObject({
      constructor: OpenAI.InternalServerError,
      code: 'model_request',
    });
    const last = await client.responses.stream({ model: 'late', input: 'Hi' }).finalResponse();
    expect(last).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    expect(last.output_text).toBe('So far so good.');
    const asked = client.responses.create({ model: 'nobody', input: 'Hi', stream: true });
    await expect(asked).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test('that are not finished are incomplete', async () => {
    const client = await clientOf();
    const whole = await client.responses.create({ model: 'tired', input: 'Hi' });
    const expected = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } };
    expect(whole).toMatchObject({ ...expected, output_text: 'As far as I got.' });
    expect(await client.responses.retrieve(whole.id)).toMatchObject({ ...expected, output: whole.output });
    expect(await client.responses.stream({ model: 'tired', input: 'Hi' }).finalResponse()).toMatchObject(expected);
  });

  test('that are aborted in the middle cancel the whole run', async () => {
    const client = await clientOf();
    const hangs = once(scripted.hung, 'hangs');
    const stream = client.responses.stream({ model: 'slow', input: 'Hi' });
    const delta = new Promise<void>((received) => stream.once('response.output_text.delta', () => received()));
    stream.done().catch(() => undefined);
    const [signal] = (await hangs) as [AbortSignal];
    await delta;
    const cancelled = once(signal, 'abort');
    stream.abort();
    await cancelled;
    await expect(stream.done()).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
  });

  test('show the activity of sub-agents as reasoning, if the operator allows it', async () => {
    const allowed = await allowedClient();
    const body = { model: 'lead', input: 'Where is Lisbon?' };
    const last = await allowed.responses.stream(body).finalResponse();
    expect(last.output.map(({ type }) => type)).toEqual(['message', 'reasoning']);
    expect(last.output_text).toBe(streamed);
    expect(JSON.stringify(last.output[1])).toContain('researcher');
    const whole = await allowed.responses.create(body);
    expect(whole.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(whole.output_text).toBe(answer);
    const next = await allowed.responses.create({
      model: 'mirror',
      input: [{ role: 'user', content: 'Hi' }, ...asInput(last), { role: 'user', content: 'So?' }],
    });
    expect(next.output_text).toContain(streamed);
    expect(next.output_text).not.toContain('lead asks');
  });
});
