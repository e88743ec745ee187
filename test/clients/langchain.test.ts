// LangChain's ways to get JSON, each against agents that are served as by default.
import { ChatAnthropic } from '@langchain/anthropic';
import { ChatOpenAI } from '@langchain/openai';
import { expect, test } from 'vitest';
import { lisbon, place, question, servePlace } from '../headends/json-modes/place.ts';

const chatOf = async (vendor: 'openai' | 'responses' | 'anthropic', model: string) => {
  const { url, token } = await servePlace();
  if (vendor === 'anthropic') return new ChatAnthropic({ model, apiKey: token, anthropicApiUrl: url, maxRetries: 0 });
  const useResponsesApi = vendor === 'responses';
  return new ChatOpenAI({
    model,
    apiKey: token,
    configuration: { baseURL: `${url}/v1` },
    maxRetries: 0,
    useResponsesApi,
  });
};

const methods = ['jsonMode', 'jsonSchema', 'functionCalling'] as const;

test.each(
  (['openai', 'responses', 'anthropic'] as const).flatMap((vendor) =>
    methods.flatMap((method) => ['guide', 'atlas'].map((model) => [vendor, method, model] as const)),
  ),
)('%s, %s, %s', async (vendor, method, model) => {
  const chat = await chatOf(vendor, model);
  const structured = chat.withStructuredOutput(place, { method, includeRaw: true });
  const { parsed } = await structured.invoke(question);
  expect(parsed).toEqual(lisbon);
});
