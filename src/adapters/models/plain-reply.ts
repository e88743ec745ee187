// A provider that answers a request for a stream with plain JSON: its reply is read whole, without asking again.
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import type { ModelStreamParts } from './vendor.ts';

/** Thrown instead of a stream, which the vendor's package would take for one without an end. */
export class PlainReply extends Error {
  readonly response: Response;
  constructor(response: Response) {
    super('The provider answered a request for a stream with plain JSON.');
    this.name = 'PlainReply';
    this.response = response;
  }
}

/** Throws `PlainReply` for JSON where a stream was asked for. Errors of the provider are JSON too, and stay as they are. */
export const refusePlainReply = (response: Response): Response => {
  const type = response.headers.get('content-type') ?? '';
  if (response.ok && /^application\/json\b/iu.test(type)) throw new PlainReply(response);
  return response;
};

/** The reply as the parts of a stream. */
export const streamOf = ({ content, ...reply }: LanguageModelV4GenerateResult): ModelStreamParts =>
  new ReadableStream({
    start(controller) {
      controller.enqueue({ type: 'stream-start', warnings: reply.warnings });
      for (const [no, part] of content.entries())
        for (const piece of piecesOf(part, `part-${no}`)) controller.enqueue(piece);
      const { usage, finishReason, providerMetadata } = reply;
      controller.enqueue({
        type: 'finish',
        usage,
        finishReason,
        ...(providerMetadata === undefined ? {} : { providerMetadata }),
      });
      controller.close();
    },
  });

const piecesOf = (part: LanguageModelV4Content, id: string): readonly LanguageModelV4StreamPart[] => {
  const { providerMetadata } = part as { providerMetadata?: never };
  const metadata = providerMetadata === undefined ? {} : { providerMetadata };
  switch (part.type) {
    case 'text':
      return [
        { type: 'text-start', id, ...metadata },
        { type: 'text-delta', id, delta: part.text },
        { type: 'text-end', id, ...metadata },
      ];
    case 'reasoning':
      return [
        { type: 'reasoning-start', id, ...metadata },
        { type: 'reasoning-delta', id, delta: part.text },
        { type: 'reasoning-end', id, ...metadata },
      ];
    default:
      return [part];
  }
};
