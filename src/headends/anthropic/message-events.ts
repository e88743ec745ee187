// A run as a streamed message.
//
//   blocks-numbered-and-closed. Blocks are numbered from 0, one is open at a time, and every block that starts also stops
//       before the message ends.
//   message-error-ends-stream. A run without an answer ends the stream with an `error` event, and nothing follows it.
import { clientError } from '#headends/shared';
import type { JsonObject } from '#base';
import type { AnswerPiece, ClientCall, ServedRun, ServerEvent } from '#contracts';
import { awaitAnswerEnd, callArguments } from '#headends/shared';
import { anthropicError } from './anthropic-error.ts';
import { callBlock, messageHead, stopReason, anthropicUsage } from './message-reply.ts';

type MessageStream = {
  /** Whether the client sees what sub-agents and tools do. */
  readonly activity: boolean;
  /** The id of the request. */
  readonly request: string;
};

export const messageEvents = async function* (run: ServedRun, stream: MessageStream): AsyncGenerator<ServerEvent> {
  yield event('message_start', {
    message: { ...messageHead(run), content: [], stop_reason: null, usage: anthropicUsage(noTokens) },
  });
  try {
    const next = yield* blockEvents(run, stream.activity);
    const end = await awaitAnswerEnd(run);
    for (const [index, call] of end.calls.entries()) yield* callEvents(call, next + index);
    yield event('message_delta', {
      delta: { stop_reason: stopReason(end), stop_sequence: null, stop_details: null, container: null },
      usage: anthropicUsage(end.spent),
    });
  } catch (error) {
    const body = anthropicError(clientError(error), stream.request);
    yield { event: 'error', data: JSON.stringify(body) };
    return;
  }
  yield event('message_stop', {});
};

/** The usage of a run is unknown until it ends. */
const noTokens = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };

/** Returns the number of blocks. */
const blockEvents = async function* (run: ServedRun, activity: boolean): AsyncGenerator<ServerEvent, number> {
  let open: AnswerPiece['type'] | null = null;
  let index = -1;
  for await (const { type, text } of run.pieces()) {
    if ((type === 'activity' && !activity) || text === '') continue;
    const isNewBlock = type !== open;
    if (isNewBlock && open !== null) yield event('content_block_stop', { index });
    if (isNewBlock) yield event('content_block_start', { index: ++index, content_block: emptyBlocks[type] });
    yield event('content_block_delta', { index, delta: deltaFor(type, text) });
    open = type;
  }
  if (open !== null) yield event('content_block_stop', { index });
  return index + 1;
};

const callEvents = function* (call: ClientCall, index: number): Generator<ServerEvent> {
  yield event('content_block_start', { index, content_block: callBlock(call) });
  const delta = { type: 'input_json_delta', partial_json: callArguments(call) };
  yield event('content_block_delta', { index, delta });
  yield event('content_block_stop', { index });
};

const emptyBlocks = {
  text: { type: 'text', text: '', citations: null },
  activity: { type: 'thinking', thinking: '', signature: '' },
} as const satisfies Record<AnswerPiece['type'], JsonObject>;

const deltaFor = (type: AnswerPiece['type'], text: string): JsonObject =>
  type === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };

const event = (type: string, content: JsonObject): ServerEvent => ({
  event: type,
  data: JSON.stringify({ type, ...content }),
});
