// A run as a streamed message.
//
//   blocks-numbered-and-closed. Blocks are numbered from 0, one is open at a time, and every block that starts also stops
//       before the message ends.
//   message-error-ends-stream. A run without an answer ends the stream with an `error` event, and nothing follows it.
import type { JsonObject } from '#base';
import type { ClientCall, ServedRun, ServerEvent, SpentTokens } from '#contracts';
import {
  clientError,
  awaitAnswerEnd,
  callArguments,
  answerName,
  collectPieces,
  causesField,
  shownPiece,
} from '#headends/shared';
import type { AnswerEnd } from '#headends/shared';
import { anthropicError } from './anthropic-error.ts';

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
      ...causesField(end.causes),
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
  let open: keyof typeof emptyBlocks | null = null;
  let index = -1;
  for await (const piece of run.pieces()) {
    const shown = shownPiece(piece, activity);
    if (shown === null) continue;
    const { type, text } = shown;
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
} as const;

const deltaFor = (type: keyof typeof emptyBlocks, text: string): JsonObject =>
  type === 'text' ? { type: 'text_delta', text } : { type: 'thinking_delta', thinking: text };

const event = (type: string, content: JsonObject): ServerEvent => ({
  event: type,
  data: JSON.stringify({ type, ...content }),
});

// A run as one complete message.
/** The answer as one message. The activity of sub-agents and tools comes first, if `shown`. */
export const messageReply = async (run: ServedRun, shown: boolean): Promise<JsonObject> => {
  const { text, activity } = await collectPieces(run, shown);
  const end = await awaitAnswerEnd(run);
  const answerText = end.calls.length === 0 ? end.answer.text : text;
  return {
    ...messageHead(run),
    content: [
      ...(activity === '' ? [] : [{ type: 'thinking', thinking: activity, signature: '' }]),
      ...(answerText === '' ? [] : [{ type: 'text', text: answerText, citations: null }]),
      ...end.calls.map((call) => ({ ...callBlock(call), input: call.args })),
    ],
    stop_reason: stopReason(end),
    usage: anthropicUsage(end.spent),
    ...causesField(end.causes),
  };
};

/** A call of one of the client's tools, without its arguments. */
const callBlock = ({ id, name }: ClientCall): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: {},
  caller: { type: 'direct' },
});

/** The fields that do not change while a message is streamed. */
const messageHead = (run: ServedRun): JsonObject => ({
  id: `msg_${answerName(run)}`,
  type: 'message',
  role: 'assistant',
  model: run.agent,
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
});

/** `max_tokens` is the only reason in the protocol that fits a partial answer. */
const stopReason = ({ calls, answer }: AnswerEnd): string => {
  if (!answer.whole) return 'max_tokens';
  return calls.length > 0 ? 'tool_use' : 'end_turn';
};

/** The usage of the whole run. Anthropic counts cache reads and cache writes separately from the input. */
const anthropicUsage = (spent: SpentTokens): JsonObject => ({
  input_tokens: Math.max(0, spent.inputTokens - spent.cacheReadTokens - spent.cacheWriteTokens),
  cache_creation_input_tokens: spent.cacheWriteTokens,
  cache_read_input_tokens: spent.cacheReadTokens,
  output_tokens: spent.outputTokens,
  output_tokens_details: null,
  server_tool_use: null,
});
