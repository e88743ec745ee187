// Formats messages: sender, recipient, state and time.
import type { DeadLetters, MailReport } from '#contracts';
import { clockTime, count, dateTime, duration, plural } from './format-numbers.ts';
import type { Printer, Style } from './output.ts';
import { cloisterCommand } from './next-commands.ts';
import type { Common } from './request.ts';
import { truncateColumns, sanitizeLine, padEnd, width } from './sanitize-text.ts';

/** The messages must be sanitized. */
export const mailLines = (messages: readonly MailReport[], verbose: boolean, printer: Printer): readonly string[] => {
  if (messages.length === 0) return ['No messages were sent in this run.'];
  const { paint, columns } = printer;
  return [
    ...messages.flatMap((message) => [
      headLine(message, clockTime(message.queuedAt), printer),
      ...detailLines([...messageDetails(message), ...(verbose ? verboseDetails(message) : [])], columns).map((line) =>
        paint('dim', line),
      ),
    ]),
    '',
    `${plural(messages.length, 'message')}: ${countStates(messages)}`,
  ];
};

/** The letters must be sanitized. Results of agents that no one was left to receive are only counted, unless `verbose`. */
export const deadLetterLines = (
  dead: DeadLetters,
  { verbose, workspace }: Common,
  printer: Printer,
): readonly string[] => {
  const { letters, read, unread, damaged } = dead;
  const { paint, columns } = printer;
  const listed = verbose ? letters : letters.filter((message) => !isUndeliveredEnd(message));
  const ends = letters.length - listed.length;
  return [
    ...listed.flatMap((message) => [
      headLine(message, dateTime(message.deadAt ?? message.queuedAt), printer),
      ...detailLines([message.id, `run ${message.run}`, ...sizeDetail(message)], columns).map((line) =>
        paint('dim', line),
      ),
    ]),
    ...(listed.length === 0 ? [] : ['']),
    `${listed.length === 0 ? 'No dead letters' : plural(listed.length, 'dead letter')} in ${plural(read, 'run')}.`,
    ...(ends === 0
      ? []
      : [`Also, ${plural(ends, 'agent')} ended with no one left to notify; use --verbose to list them.`]),
    ...(unread === 0
      ? []
      : [`${plural(unread, 'older run')} ${unread === 1 ? 'was' : 'were'} not scanned; select one with --run.`]),
    ...damaged.map((run) => `Run ${run} cannot be read: ${cloisterCommand(`audit ${run}`, workspace)}`),
  ];
};

const isUndeliveredEnd = ({ message_type: type, reason }: MailReport): boolean =>
  type === 'result' && reason === 'ended';

const styles: Readonly<Partial<Record<MailReport['state'], Style>>> = { dead: 'red', queued: 'yellow' };

const headLine = (message: MailReport, when: string, { paint, columns }: Printer): string => {
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
const detailLines = (details: readonly string[], columns: number): readonly string[] => {
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
    at === null ? [] : [`${state} after ${duration(Math.max(0, at - queuedAt))}`];
  return [
    id,
    ...sizeDetail(message),
    ...after('delivered', deliveredAt),
    ...after('read', readAt),
    ...after('dead', deadAt),
    ...(answers === null ? [] : [`answers ${sanitizeLine(answers)}`]),
  ];
};

/** A message that did not cross has no size. */
const sizeDetail = ({ sha256, bytes }: MailReport): readonly string[] =>
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
