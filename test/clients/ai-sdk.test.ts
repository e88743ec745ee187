// The AI SDK's ways to get JSON, with each of its providers, against agents that are served as by default.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateObject, generateText, Output, streamText } from 'ai';
import { expect, test } from 'vitest';
import { lisbon, place, question, servePlace } from '../headends/json-modes/place.ts';

const providers = {
  anthropic: (baseURL: string, apiKey: string) => createAnthropic({ baseURL, apiKey }),
  'openai responses': (baseURL: string, apiKey: string) => createOpenAI({ baseURL, apiKey }),
  'openai chat': (baseURL: string, apiKey: string) => createOpenAI({ baseURL, apiKey }).chat,
  'openai-compatible': (baseURL: string, apiKey: string) =>
    createOpenAICompatible({ name: 'cloister', baseURL, apiKey }),
  'openai-compatible with structured outputs': (baseURL: string, apiKey: string) =>
    createOpenAICompatible({ name: 'cloister', baseURL, apiKey, supportsStructuredOutputs: true }),
};

test.each(
  Object.entries(providers).flatMap(([name, create]) =>
    ['guide', 'atlas'].map((agent) => [name, agent, create] as const),
  ),
)('%s, %s', async (_, agent, create) => {
  const { url, token } = await servePlace();
  const model = create(`${url}/v1`, token)(agent);
  const asked = { model, prompt: question, maxRetries: 0 };
  expect((await generateObject({ ...asked, schema: place })).object).toEqual(lisbon);
  expect((await generateText({ ...asked, output: Output.object({ schema: place }) })).output).toEqual(lisbon);
  const streamed = streamText({ ...asked, output: Output.object({ schema: place }) });
  expect(await streamed.output).toEqual(lisbon);
  expect(JSON.parse(await streamed.text)).toEqual(lisbon);
});
