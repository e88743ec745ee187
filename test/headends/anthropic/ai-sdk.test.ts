// The AI SDK's provider for Anthropic, pointed at served agents.
import { createAnthropic } from '@ai-sdk/anthropic';
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { APICallError } from '@ai-sdk/provider';
import type { RunOutcome, Spent } from '#contracts';
import { expect, test } from 'vitest';
import { serveAgents } from '../http/driver.ts';
import { answer, scriptAgents, scriptedUsage } from './scripted-agents.ts';

/** Agents as models of the provider, with everything allowed by the operator. */
const serve = async (ended: (outcome: RunOutcome) => void = () => {}): Promise<(agent: string) => LanguageModelV4> => {
  const { agents } = scriptAgents();
  const { url, token } = await serveAgents({
    agents,
    clients: { system: true, activity: true },
    log: (line) => void (line.type === 'run' && ended(line.outcome)),
  });
  return createAnthropic({ baseURL: `${url}/v1`, apiKey: token });
};

const userMessage = (text: string): LanguageModelV4Prompt[number] => ({
  role: 'user',
  content: [{ type: 'text', text }],
});

const usage = {
  inputTokens: {
    total: scriptedUsage.input,
    noCache: scriptedUsage.input - scriptedUsage.cacheRead - scriptedUsage.cacheWrite,
    cacheRead: scriptedUsage.cacheRead,
    cacheWrite: scriptedUsage.cacheWrite,
  },
  outputTokens: { total: scriptedUsage.output },
};

test('an answer has its text, its reasoning and the usage of the whole run', async () => {
  const model = await serve();
  const {
    content,
    finishReason,
    usage: reported,
    response,
  } = await model('lead').doGenerate({ prompt: [userMessage('Where is Lisbon?')] });
  expect(content.map(({ type }) => type)).toEqual(['reasoning', 'text']);
  expect(content.at(-1)).toMatchObject({ type: 'text', text: answer });
  expect(finishReason.unified).toBe('stop');
  expect(reported).toMatchObject(usage);
  expect(response?.modelId).toBe('lead');
});

test('a stream delivers the same piece by piece', async () => {
  const spent: Spent[] = [];
  const model = await serve((outcome) => spent.push(outcome.spent));
  const { stream } = await model('lead').doStream({ prompt: [userMessage('Where is Lisbon?')] });
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
      inputTokens: scriptedUsage.input,
      cacheReadTokens: scriptedUsage.cacheRead,
      cacheWriteTokens: scriptedUsage.cacheWrite,
      outputTokens: scriptedUsage.output,
    },
  ]);
});

test('a second turn sends the first one as history, and a system prompt is shown', async () => {
  const model = await serve();
  const first = await model('lead').doGenerate({ prompt: [userMessage('Where is Lisbon?')] });
  const texts = first.content.flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part] : []));
  const { content } = await model('mirror').doGenerate({
    prompt: [
      { role: 'system', content: 'The moon is full.' },
      userMessage('Where is Lisbon?'),
      {
        role: 'assistant',
        content: texts.map(({ type, text, providerMetadata }) => ({
          type,
          text,
          ...(providerMetadata === undefined ? {} : { providerOptions: providerMetadata }),
        })),
      },
      userMessage('And Porto?'),
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

test('an answer with a schema is text that holds JSON', async () => {
  const model = await serve();
  const { content } = await model('judge').doGenerate({
    prompt: [userMessage('Well?')],
    responseFormat: { type: 'json', schema },
    // Without it, the provider requests a tool call from models that it does not know.
    providerOptions: { anthropic: { structuredOutputMode: 'outputFormat' } },
  });
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  expect(JSON.parse(text)).toEqual({ verdict: 'yes', points: 3 });
});

test('model settings are accepted, and failures have their own status', async () => {
  const model = await serve();
  const settings = { temperature: 0.5, topP: 0.9, topK: 3, maxOutputTokens: 5, prompt: [userMessage('Well?')] };
  await expect(model('judge').doGenerate(settings)).resolves.toMatchObject({ finishReason: { unified: 'stop' } });
  const statusOf = async (agent: string): Promise<unknown> => {
    const error: unknown = await model(agent)
      .doGenerate({ prompt: [userMessage('x')] })
      .then(
        () => null,
        (thrown: unknown) => thrown,
      );
    return APICallError.isInstance(error) ? [error.statusCode, error.message] : error;
  };
  expect(await statusOf('nobody')).toEqual([404, expect.stringContaining('No agent has that name') as string]);
  expect(await statusOf('broken')).toEqual([502, expect.stringContaining('provider') as string]);
});
