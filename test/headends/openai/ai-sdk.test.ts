// The providers of the AI SDK, unchanged, pointed at served agents.
import { once } from 'node:events';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError } from '@ai-sdk/provider';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import type { ClientRules } from '#contracts';
import { answer, scriptAgents, placeSchema, scriptedUsage } from './scripted-agents.ts';
import { serveAgents } from '../http/driver.ts';
import type { ServedAgents } from '../http/driver.ts';

const scripted = scriptAgents();
const serve = (clients: Partial<ClientRules> = {}): Promise<ServedAgents> =>
  serveAgents({ agents: scripted.agents, clients });
/** With more allowed by the operator. */
const serveAllowingAll = (): Promise<ServedAgents> => serve({ system: true, activity: true });

const sent: any[] = [];
const options = ({ url, token }: ServedAgents, apiKey = token) => ({
  baseURL: `${url}/v1`,
  apiKey,
  fetch: (input: string | URL | Request, init?: RequestInit) => {
    sent.push(JSON.parse(init?.body as string));
    return fetch(input, init);
  },
});

const providers: readonly [string, (agent: string, of: ServedAgents, key?: string) => LanguageModelV4][] = [
  ['responses', (agent, of, key) => createOpenAI(options(of, key)).responses(agent)],
  ['chat', (agent, of, key) => createOpenAI(options(of, key)).chat(agent)],
  [
    'compatible',
    (agent, of, key) =>
      createOpenAICompatible({
        ...options(of, key),
        name: 'cloister',
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(agent),
  ],
];

const userPrompt = (text: string): LanguageModelV4Prompt => [{ role: 'user', content: [{ type: 'text', text }] }];
const streamed = `Let me ask.\n\n${answer}`;

const textOf = (content: readonly LanguageModelV4Content[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('');

const partsOf = async (
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
): Promise<readonly LanguageModelV4StreamPart[]> => {
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of (await model.doStream(call)).stream as unknown as AsyncIterable<LanguageModelV4StreamPart>)
    parts.push(part);
  return parts;
};

const deltas = (parts: readonly LanguageModelV4StreamPart[], type: 'text-delta' | 'reasoning-delta'): string =>
  parts.map((part) => (part.type === type ? part.delta : '')).join('');

const usage = {
  inputTokens: { total: scriptedUsage.input, cacheRead: scriptedUsage.cacheRead },
  outputTokens: { total: scriptedUsage.output },
};

describe.each(providers)('%s', (name, modelFor) => {
  test('generates the answer, with the usage of the whole run', async () => {
    const served = await serve();
    const result = await modelFor('lead', served).doGenerate({
      prompt: userPrompt('Where is Lisbon?'),
      temperature: 0.5,
    });
    expect(textOf(result.content)).toBe(answer);
    expect(result).toMatchObject({ finishReason: { unified: 'stop' }, usage, warnings: [] });
    expect(result.response).toMatchObject({ modelId: 'lead' });
  });

  test('streams the answer, with the usage of the whole run', async () => {
    const served = await serve();
    const parts = await partsOf(modelFor('lead', served), { prompt: userPrompt('Where is Lisbon?') });
    expect(deltas(parts, 'text-delta')).toBe(streamed);
    expect(parts.filter(({ type }) => type === 'error')).toEqual([]);
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'stop' }, usage });
  });

  test('continues a dialog as the client itself sends it', async () => {
    const served = await serve();
    const model = modelFor('mirror', served);
    const first = await modelFor('lead', served).doGenerate({ prompt: userPrompt('Where is Lisbon?') });
    const content = first.content.flatMap((part) =>
      part.type === 'text' ? [{ ...part, providerOptions: part.providerMetadata ?? {} }] : [],
    );
    const prompt = [
      ...userPrompt('Where is Lisbon?'),
      { role: 'assistant' as const, content },
      ...userPrompt('And where is Porto?'),
    ] as LanguageModelV4Prompt;
    const second = await model.doGenerate({ prompt });
    for (const text of ['Where is Lisbon?', answer, 'And where is Porto?'])
      expect(textOf(second.content)).toContain(text);
    // One provider refers to an answer by id instead of repeating it.
    const isNamed = JSON.stringify(sent.at(-1)).includes('"item_reference"');
    expect(isNamed).toBe(name === 'responses');
    const parts = await partsOf(model, { prompt });
    expect(deltas(parts, 'text-delta')).toContain(answer);
  });

  test('requests JSON that matches a schema, streamed or not', async () => {
    const served = await serve();
    const call: LanguageModelV4CallOptions = {
      prompt: userPrompt('Lisbon'),
      responseFormat: { type: 'json', name: 'place', schema: placeSchema as object },
    };
    const model = modelFor('atlas', served);
    const result = await model.doGenerate(call);
    expect(JSON.parse(textOf(result.content))).toEqual({ city: 'Lisbon', people: 545_796 });
    const parts = await partsOf(model, call);
    expect(JSON.parse(deltas(parts, 'text-delta'))).toEqual({ city: 'Lisbon', people: 545_796 });
  });

  test('gets errors before there is an answer', async () => {
    const served = await serve();
    const ask = (agent: string, key?: string, more: Partial<LanguageModelV4CallOptions> = {}) =>
      modelFor(agent, served, key)
        .doGenerate({ prompt: userPrompt('Hi'), ...more })
        .then(undefined, (error: unknown) => error);
    const tools = [{ type: 'function' as const, name: 'f', inputSchema: { type: 'object' as const } }];
    for (const [error, expected] of [
      [await ask('nobody'), { statusCode: 404, isRetryable: false }],
      [await ask('lead', 'wrong'), { statusCode: 401, isRetryable: false }],
      [await ask('lead', undefined, { tools }), { statusCode: 400, isRetryable: false }],
      [await ask('broken'), { statusCode: 502 }],
    ] as const) {
      expect(APICallError.isInstance(error)).toBe(true);
      expect(error).toMatchObject(expected);
      // The message is ours, so the client has parsed the error.
      expect((error as APICallError).message).toMatch(/^[A-Z].*\.$/su);
    }
    await expect(partsOf(modelFor('nobody', served), { prompt: userPrompt('Hi') })).rejects.toMatchObject({
      statusCode: 404,
    });
  });

  test('gets an error in the middle of an answer', async () => {
    const served = await serve();
    const parts = await partsOf(modelFor('late', served), { prompt: userPrompt('Hi') });
    expect(deltas(parts, 'text-delta')).toBe('So far so good.');
    const errors = parts.filter(({ type }) => type === 'error');
    expect(errors).toHaveLength(1);
    expect(JSON.stringify(parts)).toContain('The model provider rejected the request.');
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'error' } });
  });

  test('aborting in the middle cancels the whole run', async () => {
    const served = await serve();
    const controller = new AbortController();
    const hangs = once(scripted.hung, 'hangs');
    const { stream } = await modelFor('slow', served).doStream({
      prompt: userPrompt('Hi'),
      abortSignal: controller.signal,
    });
    const [signal] = (await hangs) as [AbortSignal];
    const cancelled = once(signal, 'abort');
    const reader = stream.getReader();
    await reader.read();
    controller.abort();
    await cancelled;
    const rest = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    await expect(rest()).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('a system prompt is refused, or becomes context if that is allowed', async () => {
    const served = await serve();
    const more = await serveAllowingAll();
    const prompt = [{ role: 'system' as const, content: 'Talk like a pirate.' }, ...userPrompt('Hi')];
    await expect(modelFor('mirror', served).doGenerate({ prompt })).rejects.toMatchObject({ statusCode: 400 });
    const shown = textOf((await modelFor('mirror', more).doGenerate({ prompt })).content);
    expect(shown).toContain('pirate');
    expect(shown.slice(0, shown.indexOf('</system>'))).not.toContain('pirate');
  });

  test('the activity of sub-agents is reasoning, if the operator shows it and the provider reads it', async () => {
    const more = await serveAllowingAll();
    const model = modelFor('lead', more);
    const { content } = await model.doGenerate({ prompt: userPrompt('Where is Lisbon?') });
    const parts = await partsOf(model, { prompt: userPrompt('Where is Lisbon?') });
    const thought = content.map((part) => (part.type === 'reasoning' ? part.text : '')).join('');
    expect(thought.includes('researcher')).toBe(name !== 'chat');
    expect(deltas(parts, 'reasoning-delta')).toBe(thought);
    expect(textOf(content)).toBe(answer);
    expect(deltas(parts, 'text-delta')).toBe(streamed);
    // Everything is sent back, and only the text becomes history.
    const back = content.map((part) => ({ ...part, providerOptions: (part as any).providerMetadata ?? {} }));
    const prompt = [
      ...userPrompt('One'),
      { role: 'assistant', content: back },
      ...userPrompt('Two'),
    ] as LanguageModelV4Prompt;
    const shown = textOf((await modelFor('mirror', more).doGenerate({ prompt })).content);
    expect(shown).toContain(answer);
    expect(shown).not.toContain('lead asks');
  });
});
