// Renders a task for the cell that works on it (its text, the results it depends on, its messages), and all results for
// the coordinator's answer. Text from other agents is framed as data, with title and sender set by the runtime.
import { utf8Bytes } from '#base';
import { decodeDependency, decodeMail } from '#contracts';
import type { Dependency, DependencyHead } from '#contracts';
import { shownLines, splitIfLong } from './child-result.ts';
import { dataFrame, toOneLine } from './data-frame.ts';
import { sourceText, userMessage } from './dialog.ts';
import { mergedBlocks, numberDuplicates } from './merge-results.ts';
import { cutBytes, outputName } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** task@1. Source: the goal's crossing. */
export const taskRule: Rule = ([goal]) => userMessage(sourceText(goal));

/** dependency@1. Source: the crossing. Numbers: the heading before it (see `contextHeadings`), most bytes shown, number of the output. */
export const dependencyRule: Rule = ([crossing], [heading = 0, bytesMax = 0, nth = 1]) =>
  userMessage(dependencyText(readDependency(crossing), { heading, bytesMax, nth }));

/** task-messages@1. Sources: the crossings of the messages. */
export const taskMessagesRule: Rule = (crossings) =>
  userMessage(
    messagesText(
      crossings.map((crossing) => {
        const { agent_id: from, text: content } = decodeMail(sourceText(crossing));
        return { from, content };
      }),
    ),
  );

/** synthesis@1. Sources: the crossings of all results. Number: most bytes shown of each. */
export const synthesisRule: Rule = (crossings, [bytesMax = 0]) =>
  userMessage(synthesisText(crossings.map(readDependency), bytesMax));

export const readDependency = (crossing: ResolvedSource | undefined): Dependency =>
  decodeDependency(sourceText(crossing));

/** Headings before the first result: none, for prerequisites, or for all results so far. */
const contextHeadings = ['', '## Context from prerequisite tasks\n\n', '## Results of all tasks so far\n\n'];

type DependencyDisplay = { readonly heading: number; readonly bytesMax: number; readonly nth: number };

export const dependencyText = (dependency: Dependency, { heading, bytesMax, nth }: DependencyDisplay): string => {
  const truncation = truncationNote(dependency);
  return `${contextHeadings[heading] ?? ''}${dataFrame(`${resultHeading(dependency)}${truncation}`, shownLines(dependency.text, bytesMax, dependencyOutputName(nth)))}`;
};

/** The name by which `read_output` finds the full text. */
export const dependencyOutputName = (nth: number): string => outputName('dependency', nth, 'txt');
export const resultOutputName = (nth: number): string => outputName('result', nth, 'txt');

const truncationNote = ({ leftOut }: DependencyHead): string =>
  leftOut === undefined ? '' : ` (truncated: last ${leftOut} bytes omitted)`;

const resultHeading = ({ title, assignee }: Pick<DependencyHead, 'title' | 'assignee'>): string =>
  `### ${plainTitle(title)} (by ${authorName(assignee)})`;

const authorName = (assignee: string | null): string => (assignee === null ? 'unknown' : plainTitle(assignee));

/** One line in which only the runtime can write `(by …)`. */
const plainTitle = (title: string): string =>
  // probe: task-plain-title
  toOneLine(title.replace(/\p{Default_Ignorable_Code_Point}/gu, '')).replace(/\((?=\s*by\b)/giu, '[');

export const messagesText = (messages: readonly { readonly from: string | null; readonly content: string }[]): string =>
  [
    '## Messages from team members',
    ...messages.map(({ from, content }) =>
      dataFrame(`- **${from === null ? 'the user' : plainTitle(from)}**:`, content),
    ),
  ].join('\n');

/** The beginning of each result under its task; what several results say is listed once, under the names of all finders. */
export const synthesisText = (results: readonly Dependency[], bytesMax: number): string => {
  if (results.length === 0) return 'No task produced a result.';
  const names = numberDuplicates(results.map(({ assignee }) => authorName(assignee)));
  const answers = results.map((one, index) => ({
    heading: `${resultHeading(one)}${truncationNote(one)}`,
    by: names[index]!,
    ...splitIfLong(one.text, bytesMax, resultOutputName(index + 1)),
  }));
  return ['## Results of the tasks', ...mergedBlocks(answers)].join('\n\n');
};

/** The most bytes of one result that are handed on. */
const handoverBytesMax = 1_000_000;

/** The part of a result that is handed on, and the number of bytes omitted. */
export const truncateHandover = (result: string): Pick<Dependency, 'text' | 'leftOut'> => {
  if (result.length * 3 <= handoverBytesMax) return { text: result };
  const cut = cutBytes(result, handoverBytesMax);
  return cut === result ? { text: cut } : { text: cut, leftOut: utf8Bytes(result) - utf8Bytes(cut) };
};
