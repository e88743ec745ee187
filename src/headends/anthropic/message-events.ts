// A run as a message that comes in pieces.
//
//   M1. Blocks are numbered from 0, one is open at a time, and each that is started is stopped before the message ends.
//   M2. A run without an answer ends the stream with an `error` event, and nothing after it.
import { clientError } from '#headends/shared';
import type { JsonObject } from '#base';
import type { AnswerPiece, ClientCall, ServedRun, ServerEvent } from '#contracts';
import { endOf } from '#headends/shared';
import { anthropicError } from './anthropic-error.ts';
import { callBlock, messageHead, stopReason, usageOf } from './message-reply.ts';

export type MessageStream = {
  /** Whether it is shown what others do meanwhile. */
  readonly activity: boolean;
  /** The id of the request. */
  readonly request: string;
};

export const messageEvents = async function* (run: ServedRun, stream: MessageStream): AsyncGenerator<ServerEvent> {
  yield event('message_start', {
    message: { ...messageHead(run), content: [], stop_reason: null, usage: usageOf(nothingYet) },
  });
  try {
    const next = yield* blockEvents(run, stream.activity);
    const end = await endOf(run);
    for (const [place, call] of end.calls.entries()) yield* callEvents(call, next + place);
    yield event('message_delta', {
      delta: { stop_reason: stopReason(end), stop_sequence: null, stop_details: null, container: null },
      usage: usageOf(end.spent),
    });
  } catch (error) {
    const told = anthropicError(clientError(error), stream.request);
    yield { event: 'error', data: JSON.stringify(told) };
    return;
  }
  yield event('message_stop', {});
};

/** Nobody knows before the end what a run will have used. */
const nothingYet = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

/** Gives how many blocks there were. */
const blockEvents = async function* (run: ServedRun, activity: boolean): AsyncGenerator<ServerEvent, number> {
  let open: AnswerPiece['type'] | null = null;
  let index = -1;
  for await (const { type, text } of run.pieces()) {
    if ((type === 'activity' && !activity) || text === '') continue;
    const begins = type !== open;
    if (begins && open !== null) yield event('content_block_stop', { index });
    if (begins) yield event('content_block_start', { index: ++index, content_block: empty[type] });
    yield event('content_block_delta', { index, delta: deltaOf(type, text) });
    open = type;
  }
  if (open !== null) yield event('content_block_stop', { index });
  return index + 1;
};

const callEvents = function* (call: ClientCall, index: number): Generator<ServerEvent> {
  yield event('content_block_start', { index, content_block: callBlock(call) });
  const delta = { type: 'input_json_delta', partial_json: JSON.stringify(call.args) };
  yield event('content_block_delta', { index, delta });
  yield event('content_block_stop', { index });
};

const empty = {
  text: { type: 'text', text: '', citations: null },
  activity: { type: 'thinking', thinking: '', signature: '' },
} as const satisfies Record<AnswerPiece['type'], JsonObject>;

const deltaOf = (type: AnswerPiece['type'], text: string): JsonObject =>
  type === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };

const event = (type: string, content: JsonObject): ServerEvent => ({
  event: type,
  data: JSON.stringify({ type, ...content }),
});
