// chat.postMessage, chat.update, chat.delete, chat.postEphemeral, reactions.add.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { checkBlocks } from './check-blocks.ts';
import { sortBlocks, wireMessage } from './message-body.ts';
import { addMessage, directChannelOf, findChannel, hasOpenStream, openChannel, SlackRefusal } from './workspace.ts';
import type { ChannelState, MessageState, Workspace } from './workspace.ts';

const postedTextMax = 40_000;
const updatedTextMax = 4000;

export const postMessage = (workspace: Workspace, args: JsonObject): JsonObject => {
  const channel = findTarget(workspace, args['channel']);
  const content = readContent(workspace, args, postedTextMax);
  const thread = findThreadOf(channel, args['thread_ts']);
  const message = addMessage(workspace, channel, {
    user: workspace.ids.botUser,
    thread,
    ...content,
    metadata: readMetadata(args['metadata']),
    unfurlLinks: readFlag(args['unfurl_links']),
    unfurlMedia: readFlag(args['unfurl_media']),
  });
  return { channel: channel.id, ts: message.ts, message: wireMessage(workspace, message) };
};

export const postEphemeral = (workspace: Workspace, args: JsonObject): JsonObject => {
  const channel = findTarget(workspace, args['channel']);
  const { user } = args;
  if (typeof user !== 'string' || !channel.members.has(user)) throw new SlackRefusal('user_not_in_channel');
  const content = readContent(workspace, args, postedTextMax);
  const thread = findThreadOf(channel, args['thread_ts']);
  const given = { user: workspace.ids.botUser, thread, onlyFor: user, ...content };
  return { message_ts: addMessage(workspace, channel, given).ts };
};

export const updateMessage = (workspace: Workspace, args: JsonObject): JsonObject => {
  const { channel, message } = findOwnMessage(workspace, args, 'cant_update_message');
  if (hasOpenStream(workspace, message)) throw new SlackRefusal('streaming_state_conflict');
  const content = readContent(workspace, args, updatedTextMax);
  const metadata = readMetadata(args['metadata']);
  Object.assign(message, content);
  if (metadata !== undefined) message.metadata = metadata;
  message.planTitle = undefined;
  message.edits++;
  const { ts, text } = message;
  return { channel: channel.id, ts, text, message: wireMessage(workspace, message) };
};

export const deleteMessage = (workspace: Workspace, args: JsonObject): JsonObject => {
  const { channel, message } = findOwnMessage(workspace, args, 'cant_delete_message');
  if (hasOpenStream(workspace, message)) throw new SlackRefusal('cant_delete_message');
  channel.messages.delete(message.ts);
  return { channel: channel.id, ts: message.ts };
};

export const addReaction = (workspace: Workspace, args: JsonObject): JsonObject => {
  const channel = findChannel(workspace, args['channel']);
  const { timestamp, name } = args;
  const message = typeof timestamp === 'string' ? channel.messages.get(timestamp) : undefined;
  if (message === undefined) throw new SlackRefusal('message_not_found');
  if (typeof name !== 'string' || !/^[a-z0-9_+'-]+$/u.test(name)) throw new SlackRefusal('invalid_name');
  const user = workspace.ids.botUser;
  if (message.reactions.some((one) => one.name === name && one.user === user))
    throw new SlackRefusal('already_reacted');
  message.reactions.push({ name, user });
  return {};
};

/** Whoever writes to a person writes to the direct channel with that person. */
const findTarget = (workspace: Workspace, id: Json | undefined): ChannelState => {
  if (typeof id !== 'string' || !/^[UW]/u.test(id) || !workspace.people.has(id)) return findChannel(workspace, id);
  const channel = openChannel(workspace, directChannelOf(id));
  channel.members.add(id);
  return channel;
};

const findThreadOf = (channel: ChannelState, thread: Json | undefined): string | undefined => {
  if (thread === undefined || thread === '') return undefined;
  if (typeof thread !== 'string') throw new SlackRefusal('invalid_thread_ts');
  const parent = channel.messages.get(thread);
  if (parent === undefined) throw new SlackRefusal('thread_not_found');
  return parent.thread ?? parent.ts;
};

const findOwnMessage = (
  workspace: Workspace,
  args: JsonObject,
  refusal: string,
): { readonly channel: ChannelState; readonly message: MessageState } => {
  const channel = findChannel(workspace, args['channel']);
  const { ts } = args;
  const message = typeof ts === 'string' ? channel.messages.get(ts) : undefined;
  if (message === undefined) throw new SlackRefusal('message_not_found');
  if (message.user !== workspace.ids.botUser) throw new SlackRefusal(refusal);
  return { channel, message };
};

const readContent = (
  { limits }: Workspace,
  args: JsonObject,
  textMax: number,
): Pick<MessageState, 'text' | 'cards' | 'blocks'> => {
  const { text, markdown_text: markdown, blocks } = args;
  const hasBlocks = Array.isArray(blocks) ? blocks.length > 0 : blocks !== undefined;
  if (markdown !== undefined && (text !== undefined || hasBlocks)) throw new SlackRefusal('markdown_text_conflict');
  if (markdown !== undefined) {
    if (typeof markdown !== 'string' || markdown === '') throw new SlackRefusal('no_text');
    if (markdown.length > limits.textMax) throw new SlackRefusal('msg_too_long');
    return { text: markdown, cards: [], blocks: [] };
  }
  if (typeof text === 'string' && text.length > textMax) throw new SlackRefusal('msg_too_long');
  if (!hasBlocks) {
    if (typeof text !== 'string' || text === '') throw new SlackRefusal('no_text');
    return { text, cards: [], blocks: [] };
  }
  const sorted = sortBlocks(checkBlocks(blocks));
  if (sorted.text.length > limits.textMax) throw new SlackRefusal('msg_blocks_too_long');
  return { text: sorted.text, cards: sorted.cards, blocks: sorted.others };
};

const readMetadata = (metadata: Json | undefined): JsonObject | undefined => {
  if (metadata === undefined) return undefined;
  if (!isObject(metadata) || typeof metadata['event_type'] !== 'string' || !isObject(metadata['event_payload']))
    throw new SlackRefusal('invalid_metadata_format');
  return metadata;
};

const readFlag = (flag: Json | undefined): boolean | undefined => (typeof flag === 'boolean' ? flag : undefined);
