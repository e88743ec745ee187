// OpenRouter's reasoning as its upstreams sign it: `reasoning_details`, kept as it came and given back as it came.
//
// The package for OpenAI-compatible servers knows reasoning as text only, which some upstreams refuse to take back.
import type {
  JSONObject,
  JSONValue,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { ModelStreamParts } from './vendor.ts';

/** Asks for raw pieces, which `keepDetails` takes out again, and puts what was kept into the messages it came from. */
export const restoreReasoningDetails = (call: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
  ...call,
  includeRawChunks: true,
  prompt: call.prompt.map(withDetails),
});

/** The details go in a reasoning part of their own, without text, before the end. */
export const extractReasoningDetails = (parts: ModelStreamParts): ModelStreamParts => {
  const details: JSONObject[] = [];
  return parts.pipeThrough(
    new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
      transform(part, controller) {
        if (part.type === 'raw') {
          for (const piece of detailsIn(part.rawValue)) append(details, piece);
          return;
        }
        if (part.type === 'finish' && details.length > 0) {
          const id = 'reasoning-details';
          const providerMetadata = { openrouter: { reasoning_details: details } };
          controller.enqueue({ type: 'reasoning-start', id, providerMetadata });
          controller.enqueue({ type: 'reasoning-end', id, providerMetadata });
        }
        controller.enqueue(part);
      },
    }),
  );
};

/** With its details, the reasoning's text would be said twice. */
const withDetails = (message: LanguageModelV4Message): LanguageModelV4Message => {
  if (message.role !== 'assistant') return message;
  const details = message.content.flatMap((part) =>
    part.type === 'reasoning' ? listOf(part.providerOptions?.['openrouter']?.['reasoning_details']) : [],
  );
  if (details.length === 0) return message;
  return {
    ...message,
    content: message.content.filter(({ type }) => type !== 'reasoning'),
    // What stands under this name becomes fields of the message on the wire.
    providerOptions: { ...message.providerOptions, openaiCompatible: { reasoning_details: details } },
  };
};

const detailsIn = (raw: unknown): JSONObject[] => {
  const [choice] = listOf((raw as JSONObject | null)?.['choices']) as { delta?: JSONObject | null }[];
  return listOf(choice?.delta?.['reasoning_details']).filter(isObject);
};

/** Pieces of one text become one detail; whatever else comes whole. */
const append = (details: JSONObject[], piece: JSONObject): void => {
  const last = details.at(-1);
  const field = piece['type'] === 'reasoning.text' ? 'text' : piece['type'] === 'reasoning.summary' ? 'summary' : null;
  if (field === null || last === undefined || last['type'] !== piece['type'] || last['index'] !== piece['index']) {
    details.push(piece);
    return;
  }
  const given = Object.entries(piece).filter(([, value]) => value !== null && value !== undefined);
  details[details.length - 1] = {
    ...last,
    ...Object.fromEntries(given),
    [field]: textOf(last[field]) + textOf(piece[field]),
  };
};

const textOf = (value: JSONValue | undefined): string => (typeof value === 'string' ? value : '');

const listOf = (value: unknown): JSONValue[] => (Array.isArray(value) ? (value as JSONValue[]) : []);

const isObject = (value: JSONValue): value is JSONObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
