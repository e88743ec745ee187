// What a played model says, as a provider would stream it.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import type { Model } from '#contracts';
import type { PlayedFault, PlayedReply } from './random-model.ts';
import type { PlayedModel } from './subject.ts';

export type PlayedOutput = (PlayedReply | PlayedFault) & { readonly turn: number; readonly delayMs: number };

export type ModelPorts = {
  readonly say: (options: LanguageModelV4CallOptions) => PlayedOutput | Promise<PlayedOutput>;
  readonly sleep: (ms: number) => Promise<void> | undefined;
};

export const playedModel = ({ provider, modelId, ...facts }: PlayedModel, { say, sleep }: ModelPorts): Model => {
  const language: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Every attempt streams.')),
    doStream: async (options) => {
      const saying = say(options);
      const said = saying instanceof Promise ? await saying : saying;
      await sleep(said.delayMs);
      if (!('fault' in said)) return streamOf(partsOf(said));
      const { fault, words } = said;
      switch (fault) {
        case 'hang':
          return new Promise<never>(() => undefined);
        case 'cut':
          return streamOf(block('text', words, {}), new TypeError('terminated'));
        case 'end':
          return streamOf(block('text', words, {}));
        case 'empty':
          return streamOf([finish('stop', [3, 0])]);
        case 'filter':
          return streamOf([...block('text', words, {}), finish('content-filter', [3, 1])]);
        default:
          throw refusal(fault, words);
      }
    },
  };
  return { ...facts, language };
};

/** As providers of the AI SDK throw it. */
const refusal = (statusCode: number, words: string): Error =>
  Object.assign(new Error(words), {
    name: 'AI_APICallError',
    statusCode,
    responseHeaders: { 'retry-after-ms': '2' },
  });

/** Parts one by one, then the end or what broke it: all that a reader of a stream needs, and nothing that takes time. */
const streamOf = (parts: readonly LanguageModelV4StreamPart[], broken?: Error): LanguageModelV4StreamResult => {
  let next = 0;
  const reader = {
    read: () => {
      const value = parts[next++];
      if (value !== undefined) return { done: false, value };
      if (broken !== undefined) throw broken;
      return { done: true, value };
    },
    cancel: () => Promise.resolve(),
  };
  return { stream: { getReader: () => reader } as unknown as LanguageModelV4StreamResult['stream'] };
};

const partsOf = ({
  text,
  reasoning,
  calls,
  finish: reason,
  usage,
  turn,
}: PlayedReply & PlayedOutput): LanguageModelV4StreamPart[] => {
  const parts: LanguageModelV4StreamPart[] = [];
  if (reasoning !== '')
    parts.push(...block('reasoning', reasoning, { providerMetadata: { played: { signature: reasoning } } }));
  if (text !== '') parts.push(...block('text', text, {}));
  calls.forEach(({ name, input }, index) =>
    parts.push({ type: 'tool-call', toolCallId: `call_${turn}_${index}`, toolName: name, input }),
  );
  parts.push(finish(reason, usage));
  return parts;
};

const block = (type: 'text' | 'reasoning', delta: string, more: object): readonly LanguageModelV4StreamPart[] => [
  { type: `${type}-start`, id: type },
  { type: `${type}-delta`, id: type, delta },
  { type: `${type}-end`, id: type, ...more },
];

const finish = (
  unified: PlayedReply['finish'] | 'content-filter',
  usage: PlayedReply['usage'],
): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: undefined },
  usage: {
    inputTokens: { total: usage?.[0], noCache: usage?.[0], cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: usage?.[1], text: usage?.[1], reasoning: 0 },
  },
});
