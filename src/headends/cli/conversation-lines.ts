// Conversations for people: a list of them, and one with all that was said.
import type { Conversation, ConversationSummary, Entry } from '#contracts';
import { conversationWords } from './conversation-name.ts';
import { count, dateTime, plural } from './format-numbers.ts';
import type { Page } from './output.ts';
import { tableLines } from './table.ts';
import { truncateColumns, sanitizeLine } from './sanitize-text.ts';
import { rowText } from './tree.ts';
import { wrapText } from './wrap-text.ts';

type Screen = Pick<Page, 'paint' | 'columns'>;

/** They must be harmless. */
export const conversationsLines = (
  conversations: readonly ConversationSummary[],
  { agent, deleted }: { readonly agent: string | null; readonly deleted: number },
  { paint, columns }: Screen,
): readonly string[] => {
  const whose = agent === null ? '' : ` of ${sanitizeLine(agent)}`;
  if (conversations.length === 0 && deleted > 0)
    return [
      `There are no conversations${whose}, but ${count(deleted)} that can be restored:`,
      '  npx cloister conversations list --deleted',
    ];
  if (conversations.length === 0)
    return [
      `There are no conversations${whose} yet.`,
      'Start one with `cloister chat <agent>` or `cloister run <agent> --conversation <name> "<input>"`.',
    ];
  const rows = conversations.map((one) => [
    rowText(one.agent),
    rowText(one.name),
    count(one.turns),
    dateTime(one.newestAt),
    stateWords(one),
    rowText(one.attached.join(', ')),
  ]);
  const [heading = '', ...lines] = tableLines(
    [
      { title: 'agent', shrinksTo: 8 },
      { title: 'name', shrinksTo: 10 },
      { title: 'turns', align: 'right' },
      { title: 'newest' },
      { title: 'state' },
      { title: 'attached', shrinksTo: 8 },
    ],
    rows,
    columns,
  );
  return [
    paint('dim', heading),
    ...lines.map((line, index) => (conversations[index]?.deletedAt === null ? line : paint('dim', line))),
  ];
};

const stateWords = ({ running, deletedAt }: ConversationSummary): string => {
  if (deletedAt !== null) return 'deleted';
  return running.length > 0 ? 'running' : '';
};

/** It must be harmless. */
export const conversationLines = (one: Conversation, { paint, columns }: Screen): readonly string[] => [
  paint('bold', truncateColumns(sanitizeLine(conversationWords(one)), columns)),
  `started   ${dateTime(one.startedAt)}, ${plural(one.turns, 'turn')}, the newest ${dateTime(one.newestAt)}`,
  ...(one.attached.length === 0 ? [] : wrapText('attached  ', one.attached.join(', '), columns, 10)),
  ...(one.branchedFrom === null ? [] : wrapText('branched  ', `from checkpoint ${one.branchedFrom}`, columns, 10)),
  ...(one.running.length === 0 ? [] : wrapText('running   ', one.running.join(', '), columns, 10)),
  ...(one.deletedAt === null ? [] : [paint('yellow', `deleted   ${dateTime(one.deletedAt)}; it can be restored`)]),
  ...one.entries.flatMap((entry) => entryLines(entry, { paint, columns })),
];

const entryLines = (
  { at, agent_id, recipient_id, category, text }: Entry,
  { paint, columns }: Screen,
): readonly string[] => {
  const context = category === 'CONTEXT' ? ', to know' : '';
  const head = `${dateTime(at)}  ${rowText(agent_id)} → ${rowText(recipient_id)}${context}`;
  return ['', paint('cyan', truncateColumns(head, columns)), text.trimEnd()];
};
