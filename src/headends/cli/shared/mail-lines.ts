// Formats messages: sender, recipient, state and time.
import type { MailReport } from '#contracts';
import { clockTime, count, formatDuration, plural } from '#headends/run-view';
import type { Screen, Style } from './output.ts';
import { truncateColumns, sanitizeLine, padEnd, width } from './sanitize-text.ts';

/** The messages must be sanitized. */
export const mailLines = (messages: readonly MailReport[], verbose: boolean, printer: Screen): readonly string[] => {
  if (messages.length === 0) return ['No messages were sent in this run.'];
  const { paint, columns } = printer;
  return [
    ...messages.flatMap((message) => [
      mailHeadLine(message, clockTime(message.queuedAt), printer),
      ...mailDetailLines([...messageDetails(message), ...(verbose ? verboseDetails(message) : [])], columns).map(
        (line) => paint('dim', line),
      ),
    ]),
    '',
    `${plural(messages.length, 'message')}: ${countStates(messages)}`,
  ];
};

const styles: Readonly<Partial<Record<MailReport['state'], Style>>> = { dead: 'red', queued: 'yellow' };

export const mailHeadLine = (message: MailReport, when: string, { paint, columns }: Screen): string => {
  const { message_type: type, agent_id: sender, recipient_id: recipient, topic, state, reason } = message;
  const ends = `${sanitizeLine(sender ?? 'person')} → ${topic === null ? '' : `#${sanitizeLine(topic)} `}${sanitizeLine(recipient)}`;
  const stateWords = state === 'dead' ? `dead: ${reason}` : state;
  const before = `${when}  ${type.padEnd('broadcast'.length)}  `;
  const room = Math.max(1, columns - before.length - stateWords.length - 2);
  const style = styles[state];
  return `${before}${padEnd(ends, room)}  ${style === undefined ? stateWords : paint(style, stateWords)}`;
};

const indent = ' '.repeat('12:00:00  '.length);

/** As many details per line as fit. */
export const mailDetailLines = (details: readonly string[], columns: number): readonly string[] => {
  const lines: string[] = [];
  for (const detail of details) {
    const last = lines.at(-1);
    const joined = last === undefined ? detail : `${last} · ${detail}`;
    if (last !== undefined && width(joined) + indent.length <= columns) lines[lines.length - 1] = joined;
    else lines.push(detail);
  }
  return lines.map((line) => truncateColumns(indent + line, columns));
};

const messageDetails = (message: MailReport): readonly string[] => {
  const { id, correlation_id: answers, queuedAt, deliveredAt, readAt, deadAt } = message;
  const after = (state: string, at: number | null) =>
    at === null ? [] : [`${state} after ${formatDuration(Math.max(0, at - queuedAt))}`];
  return [
    id,
    ...mailSizeDetail(message),
    ...after('delivered', deliveredAt),
    ...after('read', readAt),
    ...after('dead', deadAt),
    ...(answers === null ? [] : [`answers ${sanitizeLine(answers)}`]),
  ];
};

/** A message that did not cross has no size. */
export const mailSizeDetail = ({ sha256, bytes }: MailReport): readonly string[] =>
  sha256 === null ? [] : [`${count(bytes)} bytes`];

const verboseDetails = ({ chain, from, to, sha256 }: MailReport): readonly string[] => [
  ...(chain === null ? [] : [`chain ${sanitizeLine(chain)}`]),
  `from ${from}`,
  ...(to === null ? [] : [`to ${to}`]),
  ...(sha256 === null ? [] : [`sha256 ${sha256.slice(0, 12)}…`]),
];

const countStates = (messages: readonly MailReport[]): string =>
  (['queued', 'delivered', 'read', 'dead'] as const)
    .map((state) => ({ state, number: messages.filter((message) => message.state === state).length }))
    .filter(({ number }) => number > 0)
    .map(({ state, number }) => `${count(number)} ${state}`)
    .join(', ');
