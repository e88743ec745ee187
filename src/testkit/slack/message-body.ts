// A message as Slack returns it, and as a person reads it.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { hasOpenStream, textField } from './workspace.ts';
import type { MessageState, SlackCard, Workspace } from './workspace.ts';

/** Sorts blocks into what people read as text, as cards and as anything else. */
export const sortBlocks = (
  blocks: readonly JsonObject[],
): { readonly text: string; readonly cards: SlackCard[]; readonly others: JsonObject[] } => {
  const texts: string[] = [];
  const cards: SlackCard[] = [];
  const others: JsonObject[] = [];
  for (const block of blocks)
    if (block['type'] === 'markdown') texts.push(block['text'] as string);
    else if (block['type'] === 'task_card') cards.push(readCard(block));
    else if (block['type'] === 'plan') cards.push(...listOf(block['tasks']).map(readCard));
    else others.push(block);
  return { text: texts.join('\n'), cards, others };
};

const readCard = (block: JsonObject): SlackCard => ({
  id: textField(block['task_id']),
  title: textField(block['title']),
  status: textField(block['status']),
  details: readBlock(block['details']),
  output: readBlock(block['output']),
});

const listOf = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter((one: Json) => isObject(one)) : [];

/** The texts of a block in the order in which they stand; buttons in brackets. */
export const readBlock = (value: Json | undefined): string => {
  if (typeof value === 'string') return value;
  if (Array.isArray(value))
    return value
      .map((one: Json) => readBlock(one))
      .filter(Boolean)
      .join(' ');
  if (!isObject(value)) return '';
  if (value['type'] === 'button') return `[${readBlock(value['text'])}]`;
  if (value['type'] === 'rich_text_section')
    return listOf(value['elements'])
      .map((one) => readBlock(one))
      .join('');
  const parts = ['title', 'label', 'text', 'fields', 'elements', 'element', 'accessory', 'placeholder'] as const;
  return parts
    .map((key) => readBlock(value[key]))
    .filter(Boolean)
    .join(' ');
};

/** All of it, line by line: text, cards, other blocks, files. */
export const readMessage = (message: MessageState): string =>
  [
    message.text,
    ...message.cards.map(({ title, status, details, output }) =>
      [`(${status}) ${title}`, details, output].filter(Boolean).join(' · '),
    ),
    ...message.blocks.map(readBlock),
    ...message.files.map((id) => `<file ${id}>`),
  ]
    .filter(Boolean)
    .join('\n');

/** As `conversations.replies` has it. `withMetadata`: only if asked for. */
export const wireMessage = (workspace: Workspace, message: MessageState, withMetadata = true): JsonObject => {
  const { ids, channels } = workspace;
  const byApp = message.user === ids.botUser;
  const thread = channels.get(message.channel)?.messages;
  const parent = message.thread === undefined ? undefined : thread?.get(message.thread);
  const replies = [...(thread?.values() ?? [])].filter((one) => one.thread === message.ts && one !== message);
  return {
    type: 'message',
    user: message.user,
    ...(byApp ? { bot_id: ids.bot, app_id: ids.app } : {}),
    team: ids.team,
    ts: message.ts,
    ...(message.thread === undefined ? {} : { thread_ts: message.thread }),
    ...(replies.length === 0 ? {} : { thread_ts: message.ts, reply_count: replies.length }),
    ...(parent === undefined || parent === message ? {} : { parent_user_id: parent.user }),
    text: byApp ? escapeText(message.text) : message.text,
    ...(byApp ? { blocks: wireBlocks(message) } : {}),
    ...(message.stream === undefined
      ? {}
      : { streaming_state: hasOpenStream(workspace, message) ? 'in_progress' : 'completed' }),
    ...(message.edits === 0 ? {} : { edited: { user: message.user, ts: message.ts } }),
    ...(message.files.length === 0 ? {} : { files: message.files.map((id) => ({ id })) }),
    ...(message.reactions.length === 0
      ? {}
      : { reactions: message.reactions.map(({ name, user }) => ({ name, users: [user], count: 1 })) }),
    ...(withMetadata && message.metadata !== undefined ? { metadata: message.metadata } : {}),
  };
};

/** Slack gives Markdown back as rich text, so what was sent cannot be compared with what is read. */
const wireBlocks = ({ ts, text, cards, blocks }: MessageState): Json => [
  ...(text === '' ? [] : [{ ...richText(text), block_id: `${ts}-text` }]),
  ...cards.map(({ id, title, status, details, output }) => ({
    type: 'task_card',
    task_id: id,
    title,
    status,
    ...(details === '' ? {} : { details: richText(details) }),
    ...(output === '' ? {} : { output: richText(output) }),
  })),
  ...blocks,
];

const richText = (text: string): JsonObject => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }],
});

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
