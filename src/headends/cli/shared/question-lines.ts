// Questions of runs to people, as lines.
//
//   question-text-framed. Every row of what an agent wrote starts with a bar and fits the screen, and what cannot be seen is escaped:
//       it can neither hide nor look like a line of ours.
import type { JsonObject, RunId } from '#base';
import { operatorRight } from '#contracts';
import type { QuestionReport } from '#contracts';
import { dateTime, plural } from '#headends/run-view';
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
    ...(why === 'agent' ? framedLines(askedText(question), screen) : argumentsLines(args, screen)),
    ...factLines(question).flatMap(([title, text]) => wrapText(`  ${title.padEnd(9)}`, text, columns, 11)),
    ...question.answers.flatMap((answer) => answerLines(answer, screen)),
  ];
};

/** The arguments of a call. */
const argumentsLines = (args: JsonObject, screen: Screen): readonly string[] =>
  framedLines(visibleJson(args, 2).split('\n'), screen);

/** Those that a person has put in place of the agent's, if any. */
export const usedArgumentsLines = (args: JsonObject | undefined, screen: Screen): readonly string[] =>
  args === undefined ? [] : ['These arguments are used:', ...argumentsLines(args, screen)];

const framedLines = (lines: readonly string[], { paint, columns }: Screen): readonly string[] =>
  lines.flatMap((line) => breakColumns(line, columns - 4).map((row) => `  ${paint('cyan', '│')} ${row}`));

/** What somebody said, and the arguments that they want instead: whoever answers next must know. */
const answerLines = ({ by, args, reason }: PersonAnswer, screen: Screen): readonly string[] => {
  const name = sanitizeLine(by);
  return [
    ...(args === undefined
      ? []
      : [...wrapText('  ', `arguments by ${name}:`, screen.columns, 4), ...argumentsLines(args, screen)]),
    ...(reason === undefined
      ? []
      : [
          ...wrapText('  ', `words of ${name}:`, screen.columns, 4),
          ...framedLines(visibleText(reason).split('\n'), screen),
        ]),
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

/** The option that is meant: by its words, or by its number. */
export const findOption = (question: Pick<QuestionReport, 'args'>, text: string): string | undefined => {
  const options = optionsOf(question);
  return (
    options.find((option) => option === text) ?? (/^[1-9]\d*$/u.test(text) ? options[Number(text) - 1] : undefined)
  );
};

/** The agents from the root down to the one that asks. */
const pathText = ({ path }: Pick<QuestionReport, 'path'>): string => path.map((name) => sanitizeLine(name)).join(' > ');

const nameText = (tool: string): string => visibleText(tool).replaceAll('\n', ' ');

const reasons: Readonly<Record<QuestionReport['why'], string>> = {
  tool: 'a person must allow each call of this tool',
  agent: 'the agent asks a person; your answer is passed on to it',
  client: 'it is a tool of the client that started the run, which alone can answer',
};

const reasonToAskAgain =
  'the call was in flight during a crash and may have taken effect; allowing it makes it again, denying it passes on your words';

const stateText = (state: QuestionReport['state']): string =>
  state === 'stale' ? 'stale: the agents have changed, so no answer can continue the run' : state;

const factLines = (question: QuestionReport): readonly (readonly [title: string, text: string])[] => {
  const { id, why, indeterminate = false, until, need, answers, state } = question;
  const who = answererText(question);
  const end = why === 'agent' ? 'the agent goes on without an answer' : 'it counts as denied';
  return [
    ['question', id],
    ['why', indeterminate ? reasonToAskAgain : reasons[why]],
    ...(why === 'tool' ? [['covers', 'this one call, with exactly these arguments'] as const] : []),
    ...(who === '' ? [] : [['who', who] as const]),
    ...(need === 1 ? [] : [['needs', plural(need, 'person', 'people')] as const]),
    ...(answers.length === 0
      ? []
      : [
          [
            state === 'open' ? 'so far' : 'answers',
            answers.map((one) => answerText(one, question)).join(', '),
          ] as const,
        ]),
    ...(state === 'open'
      ? [['until', `${dateTime(until)}; then ${end}`] as const]
      : [['state', stateText(state)] as const]),
  ];
};

/** Who may answer; empty: whoever is at the terminal. */
export const answererText = ({ by, not, caller }: Pick<QuestionReport, 'by' | 'not' | 'caller'>): string =>
  [
    ...(by === null ? [] : [by.map((name) => sanitizeLine(name)).join(', ')]),
    ...(not === null ? [] : [`not whoever started the run (${sanitizeLine(caller ?? 'operator')})`]),
  ].join('; ');

/** Why this person cannot answer; null: they can. */
export const answererProblem = (question: QuestionReport, name: string): string | null => {
  const { id, why, need, answers } = question;
  if (why === 'client')
    return `${id} waits for a tool of the client that started the run; only the client can answer it`;
  if (operatorRight(name)(question) === null)
    return `${name} may not answer ${id}; who may: ${answererText(question)}${need === 1 ? '' : `; ${need} people must allow it`}`;
  return answers.some(({ by }) => by === name)
    ? `${name} has answered ${id} already; ${plural(need, 'person', 'people')} must allow it`
    : null;
};

type PersonAnswer = QuestionReport['answers'][number];

const answerText = ({ by, allow, args }: PersonAnswer, { why }: Pick<QuestionReport, 'why'>): string => {
  const verdict = why === 'agent' ? (allow ? 'answered' : 'declined') : allow ? 'allowed' : 'denied';
  return `${sanitizeLine(by)}: ${verdict}${args === undefined ? '' : ', with other arguments'}`;
};

/** What an allowing answer that is remembered covers. */
export const rememberText = ({ agent, tool }: Pick<QuestionReport, 'agent' | 'tool'>): string =>
  `later calls of ${nameText(tool)} with the same arguments by ${sanitizeLine(agent)}, in this run`;

/** A few lines for each: who asks what, with what, until when, and what people wrote or changed. */
export const questionListLines = (
  questions: readonly QuestionReport[],
  { paint, columns }: Screen,
): readonly string[] =>
  questions.flatMap((question) => {
    const { id, tool, args, why, askedAt, until, need, answers, state } = question;
    const what = why === 'agent' ? 'asks' : nameText(tool);
    const short = why === 'agent' ? askedText(question).join(' ') : visibleJson(args);
    const given = answers.length === 0 ? '' : ` (${answers.map((one) => answerText(one, question)).join(', ')})`;
    const details = answers.flatMap(({ by, args: changed, reason }) =>
      [
        ...(changed === undefined ? [] : [visibleJson(changed)]),
        ...(reason === undefined ? [] : [visibleText(reason)]),
      ].map((text) => `${sanitizeLine(by)}: ${excerpt(text, columns * 2)}`),
    );
    const progress =
      state === 'open'
        ? `until ${dateTime(until)}, ${answers.length} of ${plural(need, 'answer')}${given}`
        : `${stateText(state)}${given}`;
    return [
      `${paint('bold', truncateColumns(id, columns))}  ${truncateColumns(`${pathText(question)}: ${what}`, Math.max(20, columns - id.length - 2))}`,
      `  ${truncateColumns(excerpt(short, columns * 2), columns - 2)}`,
      ...wrapText('  ', `asked ${dateTime(askedAt)}, ${progress}`, columns, 2).map((line) => paint('dim', line)),
      ...details.map((line) => `  ${truncateColumns(line, columns - 2)}`),
    ];
  });

/** The commands that answer a question, about the arguments that it has. */
export const answerCommands = (question: QuestionReport, workspace: string): readonly string[] => {
  const { id, why, sha256 } = question;
  const as = byOption(question);
  return (
    why === 'agent'
      ? [`answer ${id} ${optionsOf(question).length === 0 ? '"<your answer>"' : '<number>'}${as}`]
      : [`answer ${id} allow --sha256 ${sha256}${as}`, `answer ${id} deny${as}`]
  ).map((words) => cloisterCommand(words, workspace));
};

/** The command that shows a question to the next person, and asks them. */
export const askCommand = (question: QuestionReport, workspace: string): string =>
  cloisterCommand(`answer ${question.id}${byOption(question)}`, workspace);

/** Names somebody who can answer, unless the operator can. */
const byOption = (question: QuestionReport): string => {
  if (answererProblem(question, 'operator') === null) return '';
  const name = question.by?.find((one) => answererProblem(question, one) === null);
  return ` --by ${name === undefined ? '<name>' : shellWord(name)}`;
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
  questions: questions.map((question) => ({ ...question, commands: answerCommands(question, workspace) })),
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
