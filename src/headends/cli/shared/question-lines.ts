// Questions of runs to people, as lines.
//
//   question-text-framed. Every row of what an agent wrote starts with a bar and fits the screen, and what cannot be seen is escaped:
//       it can neither hide nor look like a line of ours.
import type { RunId } from '#base';
import type { QuestionReport } from '#contracts';
import { dateTime, plural } from './format.ts';
import { cloisterCommand, shellWord } from './next-commands.ts';
import type { Screen } from './output.ts';
import {
  breakColumns,
  excerpt,
  sanitizeLine,
  truncateColumns,
  visibleJson,
  visibleText,
  wrapText,
} from './sanitize-text.ts';

/** One question, with everything that the person who answers must know. */
export const questionLines = (question: QuestionReport, screen: Screen): readonly string[] => {
  const { why, args, tool } = question;
  const asker = pathText(question);
  const name = nameText(tool);
  const { paint, columns } = screen;
  const head = why === 'agent' ? `${asker} asks:` : `${asker} wants to call ${name}:`;
  return [
    ...wrapText('', head, columns, 2).map((line) => paint('bold', line)),
    ...(why === 'agent' ? askedText(question) : visibleJson(args, 2).split('\n')).flatMap((line) =>
      breakColumns(line, columns - 4).map((row) => `  ${paint('cyan', '│')} ${row}`),
    ),
    ...factLines(question).flatMap(([title, text]) => wrapText(`  ${title.padEnd(9)}`, text, columns, 11)),
  ];
};

/** What an agent asks, with its options numbered. */
const askedText = ({ args }: QuestionReport): readonly string[] => [
  ...visibleText(typeof args['question'] === 'string' ? args['question'] : visibleJson(args)).split('\n'),
  ...optionsOf({ args }).map(
    (option, index) => `${index + 1}. ${visibleText(option).replaceAll('\n', String.raw`\n`)}`,
  ),
];

/** The answers that an agent's own question allows; none: any text. */
export const optionsOf = ({ args }: Pick<QuestionReport, 'args'>): readonly string[] => {
  const { options } = args;
  return Array.isArray(options) ? options.filter((option) => typeof option === 'string') : [];
};

/** The agents from the root down to the one that asks. */
const pathText = ({ path }: Pick<QuestionReport, 'path'>): string => path.map((name) => sanitizeLine(name)).join(' > ');

const nameText = (tool: string): string => visibleText(tool).replaceAll('\n', ' ');

const reasons: Readonly<Record<QuestionReport['why'], string>> = {
  tool: 'a person must allow each call of this tool',
  agent: 'the agent asks a person; your answer is passed on to it',
  client: 'it is a tool of the client that started the run, which alone can answer',
};

const factLines = (question: QuestionReport): readonly (readonly [title: string, text: string])[] => {
  const { id, why, until, need, by, not, answers, state } = question;
  const names = by === null ? [] : [by.map((name) => sanitizeLine(name)).join(', ')];
  const who = [...names, ...(not === null ? [] : ['not whoever started the run'])].join('; ');
  const end = why === 'agent' ? 'the agent goes on without an answer' : 'it counts as denied';
  return [
    ['question', id],
    ['why', reasons[why]],
    ...(why === 'tool' ? [['covers', 'this one call, with exactly these arguments'] as const] : []),
    ...(who === '' ? [] : [['who', who] as const]),
    ...(need === 1 ? [] : [['needs', plural(need, 'person', 'people')] as const]),
    ...(answers.length === 0 ? [] : [['so far', answers.map(answerText).join(', ')] as const]),
    ...(state === 'open' ? [['until', `${dateTime(until)}; then ${end}`] as const] : [['state', state] as const]),
  ];
};

const answerText = ({ by, allow, args }: QuestionReport['answers'][number]): string =>
  `${sanitizeLine(by)}: ${allow ? 'allowed' : 'denied'}${args === undefined ? '' : ', with other arguments'}`;

/** What an allowing answer that is remembered covers. */
export const rememberText = ({ agent, tool }: Pick<QuestionReport, 'agent' | 'tool'>): string =>
  `later calls of ${nameText(tool)} with the same arguments by ${sanitizeLine(agent)}, in this run`;

/** Three lines for each: who asks what, with what, and until when. */
export const questionListLines = (
  questions: readonly QuestionReport[],
  { paint, columns }: Screen,
): readonly string[] =>
  questions.flatMap((question) => {
    const { id, tool, args, why, askedAt, until, need, answers, state } = question;
    const what = why === 'agent' ? 'asks' : nameText(tool);
    const short = why === 'agent' ? askedText(question).join(' ') : visibleJson(args);
    const given = answers.length === 0 ? '' : ` (${answers.map(answerText).join(', ')})`;
    const progress =
      state === 'open'
        ? `until ${dateTime(until)}, ${answers.length} of ${plural(need, 'answer')}${given}`
        : `${state}${given}`;
    return [
      `${paint('bold', truncateColumns(id, columns))}  ${truncateColumns(`${pathText(question)}: ${what}`, Math.max(20, columns - id.length - 2))}`,
      `  ${truncateColumns(excerpt(short, columns * 2), columns - 2)}`,
      ...wrapText('  ', `asked ${dateTime(askedAt)}, ${progress}`, columns, 2).map((line) => paint('dim', line)),
    ];
  });

/** The commands that answer a question. `withHash`: those that need no terminal. */
export const answerCommands = (
  { id, why, sha256, by, not, answers }: QuestionReport,
  workspace: string,
  withHash = false,
): readonly string[] => {
  const isTaken = (name: string): boolean => answers.some((answer) => answer.by === name);
  const name = by?.find((one) => !isTaken(one)) ?? (not === null && answers.length === 0 ? null : '<name>');
  const as = name === null ? '' : ` --by ${name === '<name>' ? name : shellWord(name)}`;
  const hash = withHash ? ` --sha256 ${sha256}` : '';
  return (
    why === 'agent'
      ? [`answer ${id} "<your answer>"${as}`]
      : [`answer ${id} allow${hash}${as}`, `answer ${id} deny${as}`]
  ).map((words) => cloisterCommand(words, workspace));
};

/** A run that was left because it waits for people. */
export type WaitingRun = { readonly run: RunId; readonly questions: readonly QuestionReport[] };

/** The same for programs, in place of an outcome. */
export const waitingJson = ({ run, questions }: WaitingRun, workspace: string) => ({
  run,
  status: 'waiting',
  output: '',
  data: null,
  error: null,
  questions: questions.map((question) => ({ ...question, commands: answerCommands(question, workspace, true) })),
});

const listedMax = 10;

/** That a run was left because it waits for people, and how it continues. */
export const waitingLines = ({ run, questions }: WaitingRun, workspace: string, screen: Screen): readonly string[] => {
  const shown = questions.slice(0, listedMax);
  const more = questions.length - shown.length;
  const first = questions.find(({ why }) => why !== 'client');
  return [
    screen.paint('yellow', `Run ${run} waits for people: ${plural(questions.length, 'open question')}.`),
    ...questionListLines(shown, screen),
    ...(more > 0 ? [`… ${more} more: ${cloisterCommand(`questions --run ${run}`, workspace)}`] : []),
    ...(first === undefined
      ? []
      : [
          'See a question whole, then answer it; the run then continues:',
          `  ${cloisterCommand(`questions ${first.id}`, workspace)}`,
          ...answerCommands(first, workspace).map((command) => `  ${command}`),
        ]),
  ];
};
