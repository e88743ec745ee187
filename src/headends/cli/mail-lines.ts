// Messages for people: who wrote to whom, what became of it, and when.
import type { DeadLetters, MailReport } from '#contracts';
import { clockTime, count, dateTime, duration, plural } from './format-numbers.ts';
import type { Page, Style } from './output.ts';
import { cloisterCommand } from './cloister-command.ts';
import type { Common } from './request.ts';
import { truncateColumns, sanitizeLine, padEnd, width } from './sanitize-text.ts';

/** They must be harmless. */
export const mailLines = (letters: readonly MailReport[], verbose: boolean, page: Page): readonly string[] => {
  if (letters.length === 0) return ['No messages were sent in this run.'];
  const { paint, columns } = page;
  return [
    ...letters.flatMap((letter) => [
      headLine(letter, clockTime(letter.queuedAt), page),
      ...detailLines([...detailsOf(letter), ...(verbose ? moreOf(letter) : [])], columns).map((line) =>
        paint('dim', line),
      ),
    ]),
    '',
    `${plural(letters.length, 'message')}: ${statesIn(letters)}`,
  ];
};

/** They must be harmless. Ends of agents that nobody was left to hear of are counted, and listed only when more is asked for. */
export const deadLetterLines = (dead: DeadLetters, { verbose, workspace }: Common, page: Page): readonly string[] => {
  const { letters, read, unread, damaged } = dead;
  const { paint, columns } = page;
  const told = verbose ? letters : letters.filter((letter) => !isUnheardEnd(letter));
  const ends = letters.length - told.length;
  return [
    ...told.flatMap((letter) => [
      headLine(letter, dateTime(letter.deadAt ?? letter.queuedAt), page),
      ...detailLines([letter.id, `run ${letter.run}`, ...sizeOf(letter)], columns).map((line) => paint('dim', line)),
    ]),
    ...(told.length === 0 ? [] : ['']),
    `${told.length === 0 ? 'No dead letters' : plural(told.length, 'dead letter')} in ${plural(read, 'run')}.`,
    ...(ends === 0
      ? []
      : [`Besides, ${plural(ends, 'agent')} ended when nobody was left to be told; --verbose lists them.`]),
    ...(unread === 0
      ? []
      : [`${plural(unread, 'older run')} ${unread === 1 ? 'was' : 'were'} not read: name one with --run.`]),
    ...damaged.map((run) => `Run ${run} cannot be read: ${cloisterCommand(`audit ${run}`, workspace)}`),
  ];
};

const isUnheardEnd = ({ message_type: type, reason }: MailReport): boolean => type === 'result' && reason === 'ended';

const styles: Readonly<Partial<Record<MailReport['state'], Style>>> = { dead: 'red', queued: 'yellow' };

const headLine = (letter: MailReport, when: string, { paint, columns }: Page): string => {
  const { message_type: type, agent_id: sender, recipient_id: recipient, topic, state, reason } = letter;
  const ends = `${sanitizeLine(sender ?? 'person')} → ${topic === null ? '' : `#${sanitizeLine(topic)} `}${sanitizeLine(recipient)}`;
  const stateWords = state === 'dead' ? `dead: ${reason}` : state;
  const before = `${when}  ${type.padEnd('broadcast'.length)}  `;
  const room = Math.max(1, columns - before.length - stateWords.length - 2);
  const style = styles[state];
  return `${before}${padEnd(ends, room)}  ${style === undefined ? stateWords : paint(style, stateWords)}`;
};

const indent = ' '.repeat('12:00:00  '.length);

/** As many to a line as there is room for. */
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

const detailsOf = (letter: MailReport): readonly string[] => {
  const { id, correlation_id: answers, queuedAt, deliveredAt, readAt, deadAt } = letter;
  const after = (state: string, at: number | null) =>
    at === null ? [] : [`${state} after ${duration(Math.max(0, at - queuedAt))}`];
  return [
    id,
    ...sizeOf(letter),
    ...after('delivered', deliveredAt),
    ...after('read', readAt),
    ...after('dead', deadAt),
    ...(answers === null ? [] : [`answers ${sanitizeLine(answers)}`]),
  ];
};

/** What did not cross has no bytes. */
const sizeOf = ({ sha256, bytes }: MailReport): readonly string[] => (sha256 === null ? [] : [`${count(bytes)} bytes`]);

const moreOf = ({ hops, from, to, sha256 }: MailReport): readonly string[] => [
  `hops ${hops}`,
  `from ${from}`,
  ...(to === null ? [] : [`to ${to}`]),
  ...(sha256 === null ? [] : [`sha256 ${sha256.slice(0, 12)}…`]),
];

const statesIn = (letters: readonly MailReport[]): string =>
  (['queued', 'delivered', 'read', 'dead'] as const)
    .map((state) => ({ state, number: letters.filter((letter) => letter.state === state).length }))
    .filter(({ number }) => number > 0)
    .map(({ state, number }) => `${count(number)} ${state}`)
    .join(', ');
