// OpenRouter, through its Chat Completions API.
import type {
  JSONObject,
  JSONValue,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { compatibleModel, withOneSystemMessage } from './openai-compatible.ts';
import type { Vendor, ModelStreamParts } from './vendor.ts';

export const openrouter: Vendor = {
  priceList: 'openrouter',
  attachments: ['image/*', 'application/pdf'],
  connect: async (connection) => ({
    model: await compatibleModel(connection, 'openrouter'),
    prepare: (call) => restoreReasoningDetails(withOneSystemMessage(call)),
    transformStream: extractReasoningDetails,
  }),
};

// OpenRouter's signed reasoning, `reasoning_details`, kept as received and sent back unchanged.
//
// The package for OpenAI-compatible servers supports reasoning only as text, which some upstream providers reject.
/** Requests raw chunks, which `extractReasoningDetails` removes again, and restores the details in the messages they came from. */
const restoreReasoningDetails = (call: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
  ...call,
  includeRawChunks: true,
  prompt: call.prompt.map(withDetails),
});

/** Puts the details into their own reasoning part, without text, before the end. */
const extractReasoningDetails = (parts: ModelStreamParts): ModelStreamParts => {
  const details: JSONObject[] = [];
  return parts.pipeThrough(
    new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
      transform(part, controller) {
        if (part.type === 'raw') {
          for (const piece of extractDetails(part.rawValue)) appendDetail(details, piece);
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

/** Drops reasoning text, which would be duplicated by the details. */
const withDetails = (message: LanguageModelV4Message): LanguageModelV4Message => {
  if (message.role !== 'assistant') return message;
  const details = message.content.flatMap((part) =>
    part.type === 'reasoning' ? listOf(part.providerOptions?.['openrouter']?.['reasoning_details']) : [],
  );
  if (details.length === 0) return message;
  return {
    ...message,
    content: message.content.filter(({ type }) => type !== 'reasoning'),
    // Entries under this name become fields of the message that is sent.
    providerOptions: { ...message.providerOptions, openaiCompatible: { reasoning_details: details } },
  };
};

const extractDetails = (raw: unknown): JSONObject[] => {
  const [choice] = listOf((raw as JSONObject | null)?.['choices']) as { delta?: JSONObject | null }[];
  return listOf(choice?.delta?.['reasoning_details']).filter(isObject);
};

/** Joins chunks of one text into one detail; all other details arrive complete. */
const appendDetail = (details: JSONObject[], piece: JSONObject): void => {
  const last = details.at(-1);
  const field = piece['type'] === 'reasoning.text' ? 'text' : piece['type'] === 'reasoning.summary' ? 'summary' : null;
  if (field === null || last === undefined || last['type'] !== piece['type'] || last['index'] !== piece['index']) {
    details.push(piece);
    return;
  }
  const fields = Object.entries(piece).filter(([, value]) => value !== null && value !== undefined);
  details[details.length - 1] = {
    ...last,
    ...Object.fromEntries(fields),
    [field]: textOf(last[field]) + textOf(piece[field]),
  };
};

const textOf = (value: JSONValue | undefined): string => (typeof value === 'string' ? value : '');

const listOf = (value: unknown): JSONValue[] => (Array.isArray(value) ? (value as JSONValue[]) : []);

const isObject = (value: JSONValue): value is JSONObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
