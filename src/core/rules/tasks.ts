// How a task is shown to the cell that works on it: its text, the results that it depends on, its messages; and how all
// results are shown to the one who answers from them. What others wrote is data, with title and sender set by the runtime.
import { decodeMessage, utf8Bytes } from '#base';
import type { DependencyHead, Mail } from '#contracts';
import { previewIfLong } from './child-result.ts';
import { dataFrame, oneLineOf } from './data-frame.ts';
import { sourceText, userMessage } from './dialog.ts';
import { mergedResults } from './merge-results.ts';
import { cutBytes, outputName } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** task@1 of the goal's crossing. */
export const task: Rule = ([goal]) => userMessage(sourceText(goal));

/** dependency@1 of the crossing; numbers: the heading before it (see `contextHeadings`), bytes shown at most, nth output. */
export const dependency: Rule = ([crossing], [heading = 0, bytesMax = 0, nth = 1]) =>
  userMessage(dependencyText(dependencyOf(crossing), { heading, bytesMax, nth }));

/** task-messages@1 of the crossings of messages. */
export const taskMessages: Rule = (crossings) =>
  userMessage(
    messagesText(
      crossings.map((crossing) => {
        const { agent_id: from, text: content } = decodeMessage(sourceText(crossing)) as Mail;
        return { from, content };
      }),
    ),
  );

/** synthesis@1 of the crossings of all results; number: bytes shown of each at most. */
export const synthesis: Rule = (crossings, [bytesMax = 0]) =>
  userMessage(synthesisText(crossings.map(dependencyOf), bytesMax));

export type Dependency = DependencyHead & { readonly text: string };

export const dependencyOf = (crossing: ResolvedSource | undefined): Dependency =>
  decodeMessage(sourceText(crossing)) as Dependency;

/** A task as it is handed to the one who works on it. */
export const taskText = (title: string, description: string): string => `# Task: ${title}\n\n${description}`;

/** Before the first of what is shown: nothing, results that it depends on, or all that there are. */
export const contextHeadings = ['', '## Context from prerequisite tasks\n\n', '## Results of all tasks so far\n\n'];

type Showing = { readonly heading: number; readonly bytesMax: number; readonly nth: number };

export const dependencyText = (of: Dependency, { heading, bytesMax, nth }: Showing): string => {
  const cut = cutWords(of);
  return `${contextHeadings[heading] ?? ''}${dataFrame(`${resultHeading(of)}${cut}`, previewIfLong(of.text, bytesMax, dependencyOutput(nth)))}`;
};

/** The name under which it can be read on. */
export const dependencyOutput = (nth: number): string => outputName('dependency', nth, 'txt');
export const resultOutput = (nth: number): string => outputName('result', nth, 'txt');

const cutWords = ({ leftOut }: DependencyHead): string =>
  leftOut === undefined ? '' : ` Its last ${leftOut} bytes were too much to hand on.`;

const resultHeading = ({ title, assignee }: Pick<DependencyHead, 'title' | 'assignee'>): string =>
  `### ${plainTitle(title)} (by ${assignee === null ? 'unknown' : plainTitle(assignee)})`;

/** One line, with nobody's name in it but the runtime's. */
export const plainTitle = (title: string): string =>
  // probe: task-plain-title
  oneLineOf(title.replace(/\p{Default_Ignorable_Code_Point}/gu, '')).replace(/\((?=\s*by\b)/giu, '[');

export const messagesText = (messages: readonly { readonly from: string | null; readonly content: string }[]): string =>
  [
    '## Messages from team members',
    ...messages.map(({ from, content }) =>
      dataFrame(`- **${from === null ? 'the person you work for' : plainTitle(from)}**:`, content),
    ),
  ].join('\n');

/** Each result under its task, as far as it is shown; what several found named once, under all their names. */
export const synthesisText = (results: readonly Dependency[], bytesMax: number): string => {
  if (results.length === 0) return 'No task has a result.';
  const seen = results.map((one, index) => ({
    ...one,
    text: previewIfLong(one.text, bytesMax, resultOutput(index + 1)),
  }));
  const merged = mergedResults(seen);
  const parts = results.map((one, index) => dataFrame(`${resultHeading(one)}${cutWords(one)}`, merged[index]!));
  return ['## Results of the tasks', ...parts].join('\n\n');
};

/** What one result hands on at most. */
export const handoverBytesMax = 1_000_000;

/** As much of a result as is handed on, and how much is not. */
export const truncateHandover = (result: string): Pick<Dependency, 'text' | 'leftOut'> => {
  if (result.length * 3 <= handoverBytesMax) return { text: result };
  const cut = cutBytes(result, handoverBytesMax);
  return cut === result ? { text: cut } : { text: cut, leftOut: utf8Bytes(result) - utf8Bytes(cut) };
};
