// chat.startStream, chat.appendStream, chat.stopStream.
//
// Of a task card, an update replaces title and status, and adds to details and output: that is how Slack does it.
import { isObject, utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import { blocksMax, checkBlocks, taskStatuses } from './check-blocks.ts';
import { sortBlocks, wireMessage } from './message-body.ts';
import { setSessionStatus } from './session-methods.ts';
import { addMessage, findChannel, hasOpenStream, SlackRefusal, textField } from './workspace.ts';
import type { ChannelState, MessageState, SlackCard, Workspace } from './workspace.ts';

export const startStream = (workspace: Workspace, args: JsonObject): JsonObject => {
  const channel = findChannel(workspace, args['channel']);
  const thread = args['thread_ts'];
  if (typeof thread !== 'string' || !channel.messages.has(thread)) throw new SlackRefusal('invalid_thread_ts');
  if (channel.kind !== 'im') {
    if (typeof args['recipient_user_id'] !== 'string') throw new SlackRefusal('missing_recipient_user_id');
    if (args['recipient_team_id'] !== workspace.ids.team) throw new SlackRefusal('missing_recipient_team_id');
  }
  const display = args['task_display_mode'] ?? 'timeline';
  if (display !== 'timeline' && display !== 'plan') throw new SlackRefusal('invalid_arguments');
  const at = workspace.now();
  const draft: Draft = { text: '', cards: [], planTitle: undefined, blocks: [] };
  const mode = addChunks(workspace, draft, args, undefined);
  const message = addMessage(workspace, channel, {
    user: workspace.ids.botUser,
    thread,
    ...draft,
    stream: { startedAt: at, lastAt: at, mode, isOpen: true },
  });
  return { channel: channel.id, ts: message.ts };
};

export const appendStream = (workspace: Workspace, args: JsonObject): JsonObject => {
  const { channel, message } = findStream(workspace, args);
  if (args['markdown_text'] === undefined && args['chunks'] === undefined) throw new SlackRefusal('no_text');
  const draft: Draft = copyDraft(message);
  applyDraft(workspace, message, draft, addChunks(workspace, draft, args, message.stream?.mode));
  return { channel: channel.id, ts: message.ts };
};

export const stopStream = (workspace: Workspace, args: JsonObject): JsonObject => {
  const { channel, message } = findStream(workspace, args);
  const draft: Draft = copyDraft(message);
  const mode = addChunks(workspace, draft, args, message.stream?.mode);
  const end = sortBlocks(checkBlocks(args['blocks']));
  const status = args['session_status'];
  if (status !== undefined) setSessionStatus(workspace, channel.id, message.thread ?? message.ts, status);
  applyDraft(workspace, message, draft, mode);
  message.blocks.push(...end.others);
  message.cards.push(...end.cards);
  if (end.text !== '') message.text += `\n${end.text}`;
  if (isObject(args['metadata'])) message.metadata = args['metadata'];
  if (message.stream !== undefined) message.stream.isOpen = false;
  return { channel: channel.id, ts: message.ts, message: wireMessage(workspace, message) };
};

type Draft = Pick<MessageState, 'text' | 'cards' | 'planTitle' | 'blocks'>;

const copyDraft = ({ text, cards, planTitle, blocks }: MessageState): Draft => ({
  text,
  cards: [...cards],
  planTitle,
  blocks: [...blocks],
});

const applyDraft = (workspace: Workspace, message: MessageState, draft: Draft, mode: Mode): void => {
  Object.assign(message, draft);
  if (message.stream === undefined) return;
  message.stream.lastAt = workspace.now();
  message.stream.mode = mode;
};

const findStream = (
  workspace: Workspace,
  args: JsonObject,
): { readonly channel: ChannelState; readonly message: MessageState } => {
  const channel = findChannel(workspace, args['channel']);
  const { ts } = args;
  const message = typeof ts === 'string' ? channel.messages.get(ts) : undefined;
  if (message === undefined) throw new SlackRefusal('message_not_found');
  if (message.user !== workspace.ids.botUser) throw new SlackRefusal('message_not_owned_by_app');
  if (!hasOpenStream(workspace, message)) throw new SlackRefusal('message_not_in_streaming_state');
  return { channel, message };
};

type Mode = 'chunks' | 'text' | undefined;

/** Adds what a call brings, or throws before anything has changed. Returns the mode of the stream. */
const addChunks = (workspace: Workspace, draft: Draft, args: JsonObject, before: Mode): Mode => {
  const { markdown_text: text, chunks } = args;
  if (text !== undefined && chunks !== undefined)
    throw new SlackRefusal('cannot_provide_both_markdown_text_and_chunks');
  const mode = text !== undefined ? 'text' : chunks !== undefined ? 'chunks' : before;
  if (before !== undefined && mode !== before) throw new SlackRefusal('streaming_mode_mismatch');
  if (text !== undefined) {
    if (typeof text !== 'string') throw new SlackRefusal('invalid_arguments');
    draft.text += text;
  }
  if (chunks !== undefined) {
    if (!Array.isArray(chunks)) throw new SlackRefusal('invalid_chunks');
    for (const chunk of chunks as readonly Json[]) addChunk(draft, chunk);
  }
  checkSize(workspace, draft);
  return mode;
};

const addChunk = (draft: Draft, chunk: Json): void => {
  if (!isObject(chunk)) throw new SlackRefusal('invalid_chunks');
  switch (chunk['type']) {
    case 'markdown_text':
      if (typeof chunk['text'] !== 'string') throw new SlackRefusal('invalid_chunks');
      draft.text += chunk['text'];
      return;
    case 'plan_update':
      draft.planTitle = chunkField(chunk, 'title');
      return;
    case 'task_update':
      addCard(draft.cards, chunk);
      return;
    case 'blocks': {
      const { text, cards, others } = sortBlocks(checkBlocks(chunk['blocks']));
      draft.blocks.push(...others);
      draft.cards.push(...cards);
      draft.text += text;
      if (draft.blocks.length > blocksMax) throw new SlackRefusal('invalid_blocks');
      return;
    }
    default:
      throw new SlackRefusal('invalid_chunks');
  }
};

const addCard = (cards: SlackCard[], chunk: JsonObject): void => {
  const id = chunkField(chunk, 'id');
  if (id === '' || !taskStatuses.has(chunk['status'])) throw new SlackRefusal('invalid_chunks');
  const index = cards.findIndex((one) => one.id === id);
  const card: SlackCard = {
    id,
    title: chunkField(chunk, 'title'),
    status: textField(chunk['status']),
    details: (cards[index]?.details ?? '') + chunkField(chunk, 'details', true),
    output: (cards[index]?.output ?? '') + chunkField(chunk, 'output', true),
  };
  if (index >= 0) cards[index] = card;
  else cards.push(card);
};

/** Slack documents this limit for all texts of cards and plans. */
const fieldMax = 256;

const chunkField = (chunk: JsonObject, key: string, isOptional = false): string => {
  const text = chunk[key];
  if (text === undefined && isOptional) return '';
  if (typeof text !== 'string' || text.length > fieldMax) throw new SlackRefusal('invalid_chunks');
  return text;
};

const checkSize = ({ limits }: Workspace, { text, cards, planTitle }: Draft): void => {
  if (text.length > limits.textMax || cards.length > blocksMax) throw new SlackRefusal('msg_too_long');
  if (text === '' || limits.streamBytesMax === Infinity) return;
  const bytes = [text, planTitle ?? '', ...cards.flatMap((card) => [card.title, cardText(card), cardText(card)])];
  if (bytes.reduce((sum, part) => sum + utf8Bytes(part), 0) > limits.streamBytesMax)
    throw new SlackRefusal('msg_too_long');
};

const cardText = ({ details, output }: SlackCard): string => details + output;
