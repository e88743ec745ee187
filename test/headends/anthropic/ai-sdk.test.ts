// The AI SDK's provider for Anthropic, pointed at served agents.
import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { APICallError } from '@ai-sdk/provider';
import type { RunOutcome, Spent } from '#contracts';
import { expect, test } from 'vitest';
import { serveAgents } from '../http/driver.ts';
import { answer, openHouse, used } from './house.ts';

/** Agents as models of the provider, of an operator that allows all there is. */
const serve = async (ended: (outcome: RunOutcome) => void = () => {}): Promise<(agent: string) => LanguageModelV4> => {
  const { agents } = openHouse();
  const { url, token } = await serveAgents({
    agents,
    clients: { system: true, activity: true },
    log: (line) => void (line.type === 'run' && ended(line.outcome)),
  });
  return createAnthropic({ baseURL: `${url}/v1`, apiKey: token });
};

const said = (text: string): LanguageModelV4Prompt[number] => ({ role: 'user', content: [{ type: 'text', text }] });

const usage = {
  inputTokens: {
    total: used.input,
    noCache: used.input - used.cacheRead - used.cacheWrite,
    cacheRead: used.cacheRead,
    cacheWrite: used.cacheWrite,
  },
  outputTokens: { total: used.output },
};

test('an answer has its text, its thoughts and the usage of the whole tree', async () => {
  const model = await serve();
  const {
    content,
    finishReason,
    usage: reported,
    response,
  } = await model('lead').doGenerate({ prompt: [said('Where is Lisbon?')] });
  expect(content.map(({ type }) => type)).toEqual(['reasoning', 'text']);
  expect(content.at(-1)).toMatchObject({ type: 'text', text: answer });
  expect(finishReason.unified).toBe('stop');
  expect(reported).toMatchObject(usage);
  expect(response?.modelId).toBe('lead');
});

test('a stream has the same, piece by piece', async () => {
  const spent: Spent[] = [];
  const model = await serve((outcome) => spent.push(outcome.spent));
  const { stream } = await model('lead').doStream({ prompt: [said('Where is Lisbon?')] });
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  expect(parts.filter(({ type }) => type === 'error')).toEqual([]);
  const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
  expect(text).toBe(`Let me ask.\n\n${answer}`);
  const thoughts = parts.map((part) => (part.type === 'reasoning-delta' ? part.delta : '')).join('');
  expect(thoughts).toContain('researcher');
  expect(parts.at(-1)).toMatchObject({ type: 'finish', finishReason: { unified: 'stop' }, usage });
  expect(spent).toMatchObject([
    {
      inputTokens: used.input,
      cacheReadTokens: used.cacheRead,
      cacheWriteTokens: used.cacheWrite,
      outputTokens: used.output,
    },
  ]);
});

test('a second turn brings the first one along, and a system prompt as something to know', async () => {
  const model = await serve();
  const first = await model('lead').doGenerate({ prompt: [said('Where is Lisbon?')] });
  const texts = first.content.flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part] : []));
  const { content } = await model('mirror').doGenerate({
    prompt: [
      { role: 'system', content: 'The moon is full.' },
      said('Where is Lisbon?'),
      {
        role: 'assistant',
        content: texts.map(({ type, text, providerMetadata }) => ({
          type,
          text,
          ...(providerMetadata === undefined ? {} : { providerOptions: providerMetadata }),
        })),
      },
      said('And Porto?'),
    ],
  });
  const shown = JSON.stringify(content);
  for (const part of ['The moon is full.', 'Where is Lisbon?', 'Lisbon is in Portugal.', 'And Porto?'])
    expect(shown).toContain(part);
});

const schema = {
  type: 'object' as const,
  properties: { verdict: { type: 'string' as const }, points: { type: 'integer' as const } },
  required: ['verdict', 'points'],
  additionalProperties: false,
};

test('JSON by a schema comes as text that is JSON', async () => {
  const model = await serve();
  const { content } = await model('judge').doGenerate({
    prompt: [said('Well?')],
    responseFormat: { type: 'json', schema },
    // Without it, the provider asks models that it does not know for a call of a tool.
    providerOptions: { anthropic: { structuredOutputMode: 'outputFormat' } },
  });
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  expect(JSON.parse(text)).toEqual({ verdict: 'yes', points: 3 });
});

test('settings of a model are accepted; what fails has the status of it', async () => {
  const model = await serve();
  const settings = { temperature: 0.5, topP: 0.9, topK: 3, maxOutputTokens: 5, prompt: [said('Well?')] };
  await expect(model('judge').doGenerate(settings)).resolves.toMatchObject({ finishReason: { unified: 'stop' } });
  const statusOf = async (agent: string): Promise<unknown> => {
    const error: unknown = await model(agent)
      .doGenerate({ prompt: [said('x')] })
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );
    return APICallError.isInstance(error) ? [error.statusCode, error.message] : error;
  };
  expect(await statusOf('nobody')).toEqual([404, expect.stringContaining('no agent of that name') as string]);
  expect(await statusOf('broken')).toEqual([502, expect.stringContaining('provider') as string]);
});
