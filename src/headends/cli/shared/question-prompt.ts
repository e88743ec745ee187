// Asks the person at the terminal one question, until they have decided.
//
//   answer-typed-after-question. Only what is typed after a question was shown answers it: what was typed or pasted before is dropped.
import { canonicalJson, isObject } from '#base';
import type { JsonObject } from '#base';
import type { QuestionAnswer, QuestionReport } from '#contracts';
import type { Lines } from './cli-world.ts';
import type { CommandContext } from './define-command.ts';
import { answererProblem, answererText, findOption, optionsOf, questionLines, rememberText } from './question-lines.ts';
import { sanitizeLine, visibleJson, visibleText, wrapText } from './sanitize-text.ts';

/** What the person decided. Null: they left the question open, or it is gone. */
export type PersonAnswer = { readonly answer: Omit<QuestionAnswer, 'sha256'>; readonly by?: string } | null;

type Prompt = {
  readonly lines: Lines;
  readonly context: Pick<CommandContext, 'output' | 'terminal' | 'system'>;
  /** The name under which this person answered before. */
  readonly name: string | null;
};

/** Keys that are on their way when the question comes were not pressed for it. */
const settleMs = 50;

export const promptForAnswer = async (question: QuestionReport, prompt: Prompt): Promise<PersonAnswer> => {
  const { lines, context } = prompt;
  const { err } = context.output;
  lines.discard();
  await new Promise<void>((resolve) => void context.system.timer(settleMs, resolve));
  lines.discard();
  err.print('', ...questionLines(question, err), ...choiceLines(question, err.columns));
  const answer = await (question.why === 'agent' ? readText(question, prompt) : readVerdict(question, prompt));
  if (answer === null) return null;
  const name = await readName(question, prompt);
  if (name === null) return null;
  return { answer, ...(name === '' ? {} : { by: name }) };
};

const choiceLines = (question: QuestionReport, columns: number): readonly string[] =>
  (question.why === 'agent'
    ? [
        ['', optionsOf(question).length === 0 ? 'Answer in one line.' : 'Answer with a number or an option.'],
        ['', '/decline does not answer; /later or Ctrl-D leaves the question open.'],
      ]
    : [
        ['a', 'allow this call'],
        ['r', `allow it, and ${rememberText(question)}`],
        ['d', 'deny; `d <why>` also tells the agent why'],
        ['e', 'edit the arguments, then allow'],
        ['l', 'later, or Ctrl-D: leave the question open'],
      ]
  ).flatMap(([key = '', text = '']) => wrapText(key === '' ? '  ' : `  ${key}  `, text, columns, key === '' ? 2 : 5));

const keysHint = 'Type one letter: a allow, r for this run, d deny, e edit, l leave it open.';

type Verdict = Omit<QuestionAnswer, 'sha256'> | null;

const readVerdict = async (question: QuestionReport, prompt: Prompt): Promise<Verdict> => {
  const { lines, context } = prompt;
  for (;;) {
    const line = await lines.next('a, r, d, e or l> ');
    if (line === null) return null;
    const { key = '', words = '' } = /^\s*(?<key>\S*)\s*(?<words>.*?)\s*$/su.exec(line)?.groups ?? {};
    const isAlone = words === '';
    if (isAlone && /^(?:a|allow)$/iu.test(key)) return { allow: true };
    if (isAlone && /^(?:r|run)$/iu.test(key)) return { allow: true, remember: 'run' };
    if (/^(?:d|deny)$/iu.test(key)) return { allow: false, ...(isAlone ? {} : { reason: words }) };
    if (isAlone && /^(?:l|later)$/iu.test(key)) return null;
    if (isAlone && /^(?:e|edit)$/iu.test(key)) {
      const args = await readArguments(question, prompt);
      if (args !== null) return { allow: true, args };
    } else if (key !== '') context.output.err.print(keysHint);
  }
};

/** Null: they stay as they are, and nothing is decided yet. */
const readArguments = async ({ args }: QuestionReport, prompt: Prompt): Promise<JsonObject | null> => {
  const { err } = prompt.context.output;
  const text = await editArguments(args, prompt);
  const value = text === null || text.trim() === '' ? args : parseObject(text);
  if (value === null) err.print('That is not a JSON object. Nothing is allowed yet.');
  else if (canonicalJson(value) !== canonicalJson(args)) return value;
  else err.print('The arguments are unchanged, and nothing is allowed yet.');
  return null;
};

/** In the user's editor; if there is none, or it fails, as one line. */
const editArguments = async (
  args: JsonObject,
  { lines, context: { terminal, output } }: Prompt,
): Promise<string | null> => {
  lines.discard();
  lines.release();
  const edited = await terminal.edit(`${visibleJson(args, 2)}\n`);
  if (edited !== null && 'text' in edited) return edited.text;
  if (edited !== null)
    output.err.print(...wrapText('', `${edited.problem} Edit the arguments here instead.`, output.err.columns, 2));
  return lines.next('arguments (JSON)> ', visibleJson(args));
};

export const parseObject = (text: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
};

const readText = async (question: QuestionReport, { lines, context }: Prompt): Promise<Verdict> => {
  const options = optionsOf(question);
  for (;;) {
    const line = await lines.next(options.length === 0 ? 'answer> ' : `1 to ${options.length}> `);
    const text = line?.trim() ?? '/later';
    if (text === '/later') return null;
    if (text === '/decline') return { allow: false };
    const option = options.length === 0 ? text : findOption(question, text);
    if (option !== undefined && option !== '') return { allow: true, reason: option };
    if (text !== '') context.output.err.print(`Type a number from 1 to ${options.length}, /decline or /later.`);
  }
};

/** Empty: the usual name. Null: they left it open. */
const readName = async (question: QuestionReport, { lines, context, name }: Prompt): Promise<string | null> => {
  if (question.by === null && answererProblem(question, 'operator') === null) return '';
  const isFree = (one: string): boolean => answererProblem(question, one) === null;
  const free = question.by?.filter(isFree) ?? [];
  const known = name !== null && isFree(name) ? name : free.length === 1 ? free[0]! : null;
  const who = answererText(question) || 'not those who have answered';
  for (;;) {
    const line = await lines.next(`your name (${who})${known === null ? '' : ` [${visibleText(known)}]`}> `);
    if (line === null) return null;
    const given = line.trim() === '' ? known : line.trim();
    const problem = given === null ? null : answererProblem(question, given);
    if (given !== null && problem === null) return given;
    const words = problem === null ? 'Type your name.' : `${sanitizeLine(problem)}.`;
    context.output.err.print(
      ...wrapText('', `${words} Ctrl-D leaves the question open.`, context.output.err.columns, 2),
    );
  }
};
