// A test model: streams drawn replies as a provider would.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import type { Model } from '#contracts';
import type { TestFault, TestReply } from './random-model.ts';
import type { TestModelFacts } from './subject.ts';

export type TestModelOutput = (TestReply | TestFault) & { readonly turn: number; readonly delayMs: number };

type TestModelPorts = {
  readonly reply: (options: LanguageModelV4CallOptions) => TestModelOutput | Promise<TestModelOutput>;
  readonly sleep: (ms: number) => Promise<void> | undefined;
};

export const createTestModel = (
  { provider, modelId, ...facts }: TestModelFacts,
  { reply, sleep }: TestModelPorts,
): Model => {
  const language: LanguageModelV4 = {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('Every attempt streams.')),
    doStream: async (options) => {
      const replying = reply(options);
      const output = replying instanceof Promise ? await replying : replying;
      await sleep(output.delayMs);
      if (!('fault' in output)) return createStream(toStreamParts(output));
      const { fault, message } = output;
      switch (fault) {
        case 'hang':
          return new Promise<never>(() => undefined);
        case 'cut':
          return createStream(block('text', message, {}), new TypeError('terminated'));
        case 'end':
          return createStream(block('text', message, {}));
        case 'empty':
          return createStream([finish('stop', [3, 0])]);
        case 'filter':
          return createStream([...block('text', message, {}), finish('content-filter', [3, 1])]);
        default:
          throw statusError(fault, message);
      }
    },
  };
  return { attachments: ['*/*'], ...facts, language };
};

/** An error as AI SDK providers throw it. */
const statusError = (statusCode: number, message: string): Error =>
  Object.assign(new Error(message), {
    name: 'AI_APICallError',
    statusCode,
    responseHeaders: { 'retry-after-ms': '2' },
  });

/** Parts one by one, then the end or an error: only what a reader uses, because real streams are slow. */
const createStream = (parts: readonly LanguageModelV4StreamPart[], broken?: Error): LanguageModelV4StreamResult => {
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

const toStreamParts = ({
  text,
  reasoning,
  calls,
  finish: reason,
  usage,
  turn,
}: TestReply & TestModelOutput): LanguageModelV4StreamPart[] => {
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
  unified: TestReply['finish'] | 'content-filter',
  usage: TestReply['usage'],
): LanguageModelV4StreamPart => ({
  type: 'finish',
  finishReason: { unified, raw: undefined },
  usage: {
    inputTokens: { total: usage?.[0], noCache: usage?.[0], cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: usage?.[1], text: usage?.[1], reasoning: 0 },
  },
});
