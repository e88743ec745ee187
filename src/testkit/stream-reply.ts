// Delivers a prepared reply over time: as a stream, in one piece, or as an error.
//
//   stream-no-idle-timer. Without delays no timer is set: each part is delivered when the reader pulls it.
//   stream-abort-ends-all. An abort ends every wait and every stream with the signal's reason, and leaves no timer and no
//       listener.
import { APICallError } from '@ai-sdk/provider';
import type {
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import type { Clock, CancelTimer } from '#contracts';
import { toReplyContent, toStreamParts } from './prepare-reply.ts';
import type { ReplyBlock, PreparedReply } from './prepare-reply.ts';
import type { ScriptedReply } from './script.ts';

export type Timing = { readonly clock: Pick<Clock, 'timer'>; readonly signal: AbortSignal | undefined };

type Ending = 'close' | 'break';

/** Waits and throws if the reply is a fault of the whole request. */
export const throwRequestFault = async (reply: ScriptedReply, timing: Timing): Promise<void> => {
  const { fault, delayMs = 0 } = reply;
  if (fault === 'timeout') await wait(Infinity, timing).done;
  if (typeof fault !== 'number' && fault !== 'network') return;
  if (delayMs > 0) await wait(delayMs, timing).done;
  throw fault === 'network' ? networkError('connect ECONNREFUSED') : statusError(fault, reply.retryAfterMs);
};

export const streamReply = (
  prepared: PreparedReply,
  reply: ScriptedReply,
  timing: Timing,
): LanguageModelV4StreamResult => {
  const { parts, ending } = planStream(prepared, reply);
  const { delayMs = 0, pieceDelayMs = 0 } = reply;
  let next = 0;
  let pieces = 0;
  let waiting: Wait | undefined;

  const delayBefore = (part: LanguageModelV4StreamPart | undefined): number => {
    const first = next === 1 ? delayMs : 0;
    if (part === undefined || !isPiece(part)) return first;
    pieces++;
    return first + (pieces === 1 ? 0 : pieceDelayMs);
  };
  const enqueueNext = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void => {
    timing.signal?.throwIfAborted();
    const part = parts[next++];
    if (part !== undefined) controller.enqueue(part);
    else if (ending === 'close') controller.close();
    else controller.error(new TypeError('terminated', { cause: new Error('other side closed') }));
  };
  const stream = new ReadableStream<LanguageModelV4StreamPart>(
    {
      pull(controller) {
        timing.signal?.throwIfAborted();
        const ms = delayBefore(parts[next]);
        if (ms === 0) return enqueueNext(controller);
        waiting = wait(ms, timing);
        return waiting.done.then(() => enqueueNext(controller));
      },
      cancel: () => waiting?.stop(),
    },
    { highWaterMark: 0 },
  );
  return { stream };
};

export const generateReply = async (
  prepared: PreparedReply,
  reply: ScriptedReply,
  timing: Timing,
): Promise<LanguageModelV4GenerateResult> => {
  const { parts } = planStream(prepared, reply);
  const gaps = Math.max(0, parts.filter(isPiece).length - 1);
  const ms = (reply.delayMs ?? 0) + gaps * (reply.pieceDelayMs ?? 0);
  if (ms > 0) await wait(ms, timing).done;
  timing.signal?.throwIfAborted();
  if (reply.fault === 'error') throw overloadedError();
  if (reply.fault === 'cut' || reply.fault === 'end') throw networkError('other side closed');
  return {
    content: toReplyContent(prepared.blocks),
    finishReason: prepared.finishReason,
    usage: prepared.usage,
    warnings: [],
  };
};

/** The parts that reach the reader, and how the stream ends after them. */
const planStream = (
  prepared: PreparedReply,
  { fault }: ScriptedReply,
): { parts: LanguageModelV4StreamPart[]; ending: Ending } => {
  const { blocks, finishReason, usage } = prepared;
  const start: LanguageModelV4StreamPart = { type: 'stream-start', warnings: [] };
  if (fault === 'cut') return { parts: [start, ...firstHalf(blocks)], ending: 'break' };
  if (fault === 'end') return { parts: [start, ...firstHalf(blocks)], ending: 'close' };
  if (fault === 'error') {
    const failed: LanguageModelV4StreamPart[] = [
      { type: 'error', error: overloadedError() },
      { type: 'finish', finishReason: { unified: 'error', raw: 'error' }, usage },
    ];
    return { parts: [start, ...firstHalf(blocks), ...failed], ending: 'close' };
  }
  return { parts: [start, ...toStreamParts(blocks), { type: 'finish', finishReason, usage }], ending: 'close' };
};

const firstHalf = (blocks: readonly ReplyBlock[]): LanguageModelV4StreamPart[] => {
  const parts = toStreamParts(blocks);
  return parts.slice(0, Math.ceil(parts.length / 2));
};

const isPiece = (part: LanguageModelV4StreamPart): boolean =>
  part.type === 'text-delta' || part.type === 'reasoning-delta' || part.type === 'tool-input-delta';

type Wait = { readonly done: Promise<void>; stop(): void };

/** Infinity: waits until the signal aborts. */
const wait = (ms: number, { clock, signal }: Timing): Wait => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let stopTimer: CancelTimer | undefined;
  const stop = (): void => {
    stopTimer?.();
    signal?.removeEventListener('abort', aborted);
  };
  const aborted = (): void => {
    stop();
    // The reason is whatever the caller of `abort` passed.
    reject(signal?.reason as Error);
  };
  const finish = (): void => {
    stop();
    resolve();
  };
  if (signal?.aborted === true) aborted();
  else {
    signal?.addEventListener('abort', aborted, { once: true });
    if (ms !== Infinity) stopTimer = clock.timer(ms, finish);
  }
  return { done: promise, stop };
};

const url = 'rehearsal://model';

const statusError = (statusCode: number, retryAfterMs: number | undefined): APICallError =>
  new APICallError({
    message: `The rehearsal answers with status ${statusCode}.`,
    url,
    requestBodyValues: {},
    statusCode,
    responseHeaders:
      retryAfterMs === undefined
        ? {}
        : { 'retry-after-ms': String(retryAfterMs), 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
    responseBody: JSON.stringify({ error: { message: `rehearsed status ${statusCode}` } }),
  });

/** An error as the AI SDK reports a failed fetch. */
const networkError = (message: string): APICallError =>
  new APICallError({
    message: `Cannot connect to API: ${message}`,
    url,
    requestBodyValues: {},
    cause: new TypeError('fetch failed', { cause: new Error(message) }),
    isRetryable: true,
  });

const overloadedError = (): APICallError =>
  new APICallError({
    message: 'Overloaded',
    url,
    requestBodyValues: {},
    statusCode: 529,
    isRetryable: true,
    responseBody: JSON.stringify({ error: { type: 'overloaded_error', message: 'Overloaded' } }),
  });
