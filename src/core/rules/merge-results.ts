// Merges the answers of several agents without putting one agent's words under another's name.
//
//   merged-words-under-author. What stands under one name was written by that agent, word for word and in its order.
//   merged-shared-lines-once. Lines that several agents wrote stand in a block of their own, once, under the names of all of
//       them. Nobody's other words surround them there.
//   merged-only-source-notes. Beyond that, an answer changes another agent's block only by a note that both cite the same
//       source.
//   merged-notes-by-runtime. They consist of fixed words, numbers and names, and no text of an answer can look like one.
import { dataFrame } from './data-frame.ts';
import type { FrameLine } from './data-frame.ts';
import { answerLines } from './findings.ts';
import type { AnswerLine } from './findings.ts';

/** `by` is different for each answer. */
export type NamedAnswer = {
  readonly heading: string;
  readonly by: string;
  readonly text: string;
  /** How to read on, if the text is only the beginning. */
  readonly more: string | null;
};

/** `researcher 1`, `researcher 2`, … if one agent answered more than once. */
export const numberDuplicates = (agents: readonly string[]): readonly string[] => {
  const total = new Map<string, number>();
  for (const agent of agents) total.set(agent, (total.get(agent) ?? 0) + 1);
  const seen = new Map<string, number>();
  return agents.map((agent) => {
    const nth = (seen.get(agent) ?? 0) + 1;
    seen.set(agent, nth);
    return total.get(agent)! > 1 ? `${agent} ${nth}` : agent;
  });
};

/** A block for each answer, in order, then one for what several of them say. */
export const mergedBlocks = (answers: readonly NamedAnswer[]): readonly string[] => {
  const lines = answers.map(({ text }) => answerLines(text));
  const finders = indexBy(lines, ({ key }) => (key === null ? [] : [key]));
  const citers = indexBy(lines, ({ sources }) => sources);
  const isShared = ({ key }: AnswerLine): boolean => key !== null && finders.get(key)!.size > 1;
  const nameList = (indices: readonly number[]): string => indices.map((index) => answers[index]!.by).join(', ');

  const blocks = answers.map(({ heading, more }, index) => {
    const own = ownLines(lines[index]!, isShared, (source) => {
      const others = [...citers.get(source)!].filter((other) => other !== index);
      const rest = others.length - citersMax;
      return `${nameList(others.slice(0, citersMax))}${rest > 0 ? ` and ${rest} more` : ''}`;
    });
    return dataFrame(heading, more === null ? own : [...own, { note: more }]);
  });
  const shared = sharedLines(lines.flat().filter(isShared), ({ key }) => nameList([...finders.get(key!)!]));
  return shared.length === 0 ? blocks : [...blocks, dataFrame(sharedHeading, shared)];
};

const sharedHeading = '### Found by several';

/** So that the notes of many answers that all cite one source stay short. */
const citersMax = 8;

/** For each key, the answers that have it. */
const indexBy = (
  lines: readonly (readonly AnswerLine[])[],
  keysOf: (line: AnswerLine) => readonly string[],
): ReadonlyMap<string, ReadonlySet<number>> => {
  const found = new Map<string, Set<number>>();
  lines.forEach((ofOne, index) => {
    for (const line of ofOne)
      for (const key of keysOf(line)) {
        const known = found.get(key);
        if (known === undefined) found.set(key, new Set([index]));
        else known.add(index);
      }
  });
  return found;
};

/** One answer's lines without those that several have; each common source is noted once. */
const ownLines = (
  lines: readonly AnswerLine[],
  isShared: (line: AnswerLine) => boolean,
  otherCiters: (source: string) => string,
): readonly FrameLine[] => {
  const shown: FrameLine[] = [];
  const noted = new Set<string>();
  let moved = 0;
  const noteMoved = (): void => {
    if (moved > 0)
      shown.push({ note: `${moved === 1 ? '1 line is' : `${moved} lines are`} listed under “Found by several”.` });
    moved = 0;
  };
  for (const line of lines) {
    if (isShared(line)) {
      moved++;
      continue;
    }
    noteMoved();
    shown.push({ data: line.text });
    const names = new Set(line.sources.filter((source) => !noted.has(source)).map(otherCiters));
    for (const source of line.sources) noted.add(source);
    for (const some of names)
      if (some !== '') shown.push({ /* probe: same-source-note */ note: `Same source cited by: ${some}.` });
  }
  noteMoved();
  return shown;
};

/** Each line once, as its first finder wrote it, with the names after the last of those that have the same finders. */
const sharedLines = (lines: readonly AnswerLine[], findersOf: (line: AnswerLine) => string): readonly FrameLine[] => {
  const once = [...new Map(lines.toReversed().map((line) => [line.key, line])).values()].toReversed();
  return once.flatMap((line, index): FrameLine[] => {
    const names = findersOf(line);
    const next = once[index + 1];
    const isLast = next === undefined || findersOf(next) !== names;
    return [{ data: line.text }, ...(isLast ? [{ note: `Found by: ${names}.` }] : [])];
  });
};
