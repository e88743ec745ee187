// The providers of the AI SDK, unchanged, with tools of their own.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { serveAgents } from '../http/driver.ts';
import type { ServedAgents } from '../http/driver.ts';
import { scriptAgents, time, weather } from './scripted-agents.ts';

const options = ({ url, token }: ServedAgents) => ({ baseURL: `${url}/v1`, apiKey: token });

const providers: readonly [string, (served: ServedAgents) => LanguageModelV4][] = [
  ['openai responses', (served) => createOpenAI(options(served)).responses('guide')],
  ['openai chat', (served) => createOpenAI(options(served)).chat('guide')],
  ['openai-compatible', (served) => createOpenAICompatible({ ...options(served), name: 'cloister' })('guide')],
  ['anthropic', (served) => createAnthropic(options(served))('guide')],
];

const tools = [weather, time].map(({ name, description, schema }): LanguageModelV4FunctionTool => ({
  type: 'function',
  name,
  description,
  inputSchema: schema as object,
}));

type Turn = { readonly content: readonly LanguageModelV4Content[]; readonly finish: LanguageModelV4FinishReason };
type Ask = (model: LanguageModelV4, call: LanguageModelV4CallOptions) => Promise<Turn>;

const generateTurn: Ask = async (model, call) => {
  const { content, finishReason } = await model.doGenerate(call);
  return { content, finish: finishReason };
};

const streamTurn: Ask = async (model, call) => {
  const texts = new Map<string, string>();
  const content: LanguageModelV4Content[] = [];
  let finish: LanguageModelV4FinishReason | undefined;
  const { stream } = await model.doStream(call);
  for await (const part of stream as unknown as AsyncIterable<LanguageModelV4StreamPart>) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') texts.set(part.id, (texts.get(part.id) ?? '') + part.delta);
    if (part.type === 'text-end')
      content.push({ type: 'text', text: texts.get(part.id) ?? '', providerMetadata: part.providerMetadata ?? {} });
    if (part.type === 'tool-call') content.push(part);
    if (part.type === 'finish') finish = part.finishReason;
  }
  return { content, finish: finish! };
};

/** A turn as an application sends it back: the agent's text and calls, then their results. */
const historyAfter = ({ content }: Turn): readonly LanguageModelV4Message[] => {
  const said = content.flatMap((part): readonly (LanguageModelV4TextPart | LanguageModelV4ToolCallPart)[] => {
    const providerOptions = 'providerMetadata' in part ? (part.providerMetadata ?? {}) : {};
    if (part.type === 'text') return [{ type: 'text', text: part.text, providerOptions }];
    if (part.type !== 'tool-call') return [];
    const { toolCallId, toolName, input } = part;
    return [{ type: 'tool-call', toolCallId, toolName, input: JSON.parse(input) as unknown, providerOptions }];
  });
  const results = said.flatMap((part): readonly LanguageModelV4ToolResultPart[] => {
    if (part.type !== 'tool-call') return [];
    const value = `${part.toolName} of ${(part.input as { text: string }).text}`;
    const { toolCallId, toolName } = part;
    return [{ type: 'tool-result', toolCallId, toolName, output: { type: 'text', value } }];
  });
  return [
    { role: 'assistant', content: said },
    ...(results.length === 0 ? [] : [{ role: 'tool' as const, content: [...results] }]),
  ];
};

const textOf = ({ content }: Turn): string => content.map((part) => (part.type === 'text' ? part.text : '')).join('');

describe.each(providers)('%s', (_name, modelFor) => {
  test.each([
    ['generates', generateTurn],
    ['streams', streamTurn],
  ])('%s calls of the application’s tools, then the answer from their results', async (_how, ask) => {
    const scripted = scriptAgents();
    const served = await serveAgents({ agents: scripted.agents, clients: { tools: true } });
    const model = modelFor(served);
    const prompt: LanguageModelV4Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'weather:Lisbon, time:now; weather:Porto' }] },
    ];
    const finishes: string[] = [];
    let turn: Turn;
    do {
      turn = await ask(model, { prompt, tools, toolChoice: { type: 'auto' } });
      finishes.push(turn.finish.unified);
      prompt.push(...historyAfter(turn));
    } while (turn.finish.unified === 'tool-calls' && finishes.length < 5);
    expect(finishes).toEqual(['tool-calls', 'tool-calls', 'stop']);
    expect(textOf(turn)).toBe('Told: weather of Lisbon | time of now | weather of Porto');

    prompt.push({ role: 'user', content: [{ type: 'text', text: 'time:later' }] });
    const next = await ask(model, { prompt, tools });
    expect(next.content).toContainEqual(expect.objectContaining({ type: 'tool-call', toolName: 'time' }));
    expect(await served.cloister.runs()).toHaveLength(2);
    // The answer occurs once.
    expect(JSON.stringify(scripted.model.requests.at(-1)!.prompt).split(textOf(turn))).toHaveLength(2);
  });
});
