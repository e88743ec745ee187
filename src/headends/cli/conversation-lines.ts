// Formats a list of conversations, and one conversation with all its messages.
import type { Conversation, ConversationSummary, Entry } from '#contracts';
import { formatConversation } from './shared/resolve-name.ts';
import { count, dateTime, plural } from './shared/format-numbers.ts';
import type { Printer } from './shared/output.ts';
import { tableLines } from './shared/table.ts';
import { truncateColumns, sanitizeLine, wrapText } from './shared/sanitize-text.ts';
import { rowText } from './shared/tree.ts';

type Screen = Pick<Printer, 'paint' | 'columns'>;

/** The conversations must be sanitized. */
export const conversationsLines = (
  conversations: readonly ConversationSummary[],
  { agent, deleted }: { readonly agent: string | null; readonly deleted: number },
  { paint, columns }: Screen,
): readonly string[] => {
  const whose = agent === null ? '' : ` of ${sanitizeLine(agent)}`;
  if (conversations.length === 0 && deleted > 0)
    return [
      `No conversations${whose}; ${plural(deleted, 'deleted one')} can be restored:`,
      '  npx cloister conversations list --deleted',
    ];
  if (conversations.length === 0)
    return [
      `No conversations${whose} yet.`,
      'Start one with `cloister chat <agent>` or `cloister run <agent> --conversation <name> "<input>"`.',
    ];
  const rows = conversations.map((one) => [
    rowText(one.agent),
    rowText(one.name),
    count(one.turns),
    dateTime(one.newestAt),
    describeState(one),
    rowText(one.attached.join(', ')),
  ]);
  const [heading = '', ...lines] = tableLines(
    [
      { title: 'agent', shrinksTo: 8 },
      { title: 'name', shrinksTo: 10 },
      { title: 'turns', align: 'right' },
      { title: 'last turn' },
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

const describeState = ({ running, deletedAt }: ConversationSummary): string => {
  if (deletedAt !== null) return 'deleted';
  return running.length > 0 ? 'running' : '';
};

/** The conversation must be sanitized. */
export const conversationLines = (one: Conversation, { paint, columns }: Screen): readonly string[] => [
  paint('bold', truncateColumns(sanitizeLine(formatConversation(one)), columns)),
  `started   ${dateTime(one.startedAt)}, ${plural(one.turns, 'turn')}, last turn ${dateTime(one.newestAt)}`,
  ...(one.attached.length === 0 ? [] : wrapText('attached  ', one.attached.join(', '), columns, 10)),
  ...(one.branchedFrom === null ? [] : wrapText('branched  ', `from checkpoint ${one.branchedFrom}`, columns, 10)),
  ...(one.running.length === 0 ? [] : wrapText('running   ', one.running.join(', '), columns, 10)),
  ...(one.deletedAt === null ? [] : [paint('yellow', `deleted   ${dateTime(one.deletedAt)}; can be restored`)]),
  ...one.entries.flatMap((entry) => entryLines(entry, { paint, columns })),
];

const entryLines = (
  { at, agent_id, recipient_id, category, text }: Entry,
  { paint, columns }: Screen,
): readonly string[] => {
  const context = category === 'CONTEXT' ? ', context' : '';
  const head = `${dateTime(at)}  ${rowText(agent_id)} → ${rowText(recipient_id)}${context}`;
  return ['', paint('cyan', truncateColumns(head, columns)), text.trimEnd()];
};
