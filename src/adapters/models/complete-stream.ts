// Makes sure that a stream ends properly or fails.
import { CloisterError } from '#base';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ModelStreamParts } from './vendor.ts';

/**
 * A connection that closes early but cleanly looks like an end: the vendors' packages then finish with `interrupted`, and a
 * partial answer would pass for a complete one. Here it is an error.
 */
export const requireCompleteStream = (parts: ModelStreamParts): ModelStreamParts =>
  parts.pipeThrough(
    new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
      transform(part, controller) {
        if (part.type === 'error') controller.enqueue({ type: 'error', error: withStatus(part.error) });
        else if (part.type === 'finish' && part.finishReason.unified === 'interrupted')
          controller.enqueue({ type: 'error', error: new CloisterError('model_cut') });
        else controller.enqueue(part);
      },
    }),
  );

/** OpenAI-compatible servers report a failure in mid-stream with the status as `code`. */
const withStatus = (error: unknown): unknown => {
  if (typeof error !== 'object' || error === null || error instanceof Error || 'statusCode' in error) return error;
  const { code } = error as { code?: unknown };
  const status = Number(code);
  return Number.isInteger(status) && status >= 400 && status < 600 ? { ...error, statusCode: status } : error;
};
