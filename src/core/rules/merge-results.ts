// Results side by side, with what several of them say named once, under the names of all who found it.
import type { DependencyHead } from '#contracts';
import {
  findingKeys,
  groupFindings,
  sanitizeFinding,
  jsonFindings,
  listMark,
  normaliseText,
  sourceIn,
} from './findings.ts';

type Result = Pick<DependencyHead, 'title' | 'assignee'> & { readonly text: string };
type Line = {
  readonly text: string;
  readonly of: number;
  readonly source: string | null;
  /** Whether it says something that others may have found too. */
  readonly finds: boolean;
};

/** The text of each, in the same order: the lines as they were, a line that an earlier one says already left out. */
export const mergedResults = (results: readonly Result[]): readonly string[] => {
  const lines = results.flatMap((result, of) => linesOf(result).map((line): Line => ({ ...line, of })));
  const finding = lines.filter(({ finds }) => finds);
  const groups = groupFindings(finding.map(({ text, source }) => findingKeys({ text: bare(text), source })));
  const first = new Map<Line, string>();
  const gone = new Set<Line>();
  for (const group of groups) {
    if (group.length < 2) continue;
    const [own, ...rest] = group.map((index) => finding[index]!);
    // What one result says twice is its own affair.
    const others = rest.filter(({ of }) => of !== own!.of);
    if (others.length === 0) continue;
    first.set(own!, joined([own!, ...others], results));
    for (const line of others) gone.add(line);
  }
  const texts: string[][] = results.map(() => []);
  for (const line of lines) if (!gone.has(line)) texts[line.of]!.push(first.get(line) ?? line.text);
  return texts.map((kept, index) =>
    kept.every((line) => line.trim() === '') && results[index]!.text.trim() !== ''
      ? '(All of it is named above.)'
      : kept.join('\n'),
  );
};

const linesOf = ({ text }: Result): readonly Omit<Line, 'of'>[] => {
  const listed = jsonFindings(text);
  if (listed !== null)
    return listed.map(({ text: said, source }) => ({
      text: `- ${sanitizeFinding(said)}${source === null || said.includes(source) ? '' : ` (${sanitizeFinding(source)})`}`,
      source: source ?? sourceIn(said),
      finds: true,
    }));
  return text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u).map((line) => {
    const source = sourceIn(line);
    return { text: harmlessLine(line), source, finds: source !== null || says(line) };
  });
};

/** A closing bracket or a heading of one word is no finding. */
const says = (line: string): boolean => (bare(line).match(/[\p{L}\p{N}]+/gu)?.length ?? 0) >= 3;

const bare = (line: string): string => line.replace(listMark, '').trim();

const harmlessLine = (line: string): string =>
  line.replace(/\p{Default_Ignorable_Code_Point}/gu, '').replace(/[[［](?=\s*found\s+by)/giu, '(');

/** In the words of the first; other words from the same source beside it. */
const joined = (same: readonly Line[], results: readonly Result[]): string => {
  const [first, ...rest] = same;
  const said = new Map([[normaliseText(bare(first!.text)), first!.text]]);
  for (const { text } of rest) {
    const key = normaliseText(bare(text));
    if (!said.has(key)) said.set(key, sanitizeFinding(bare(text)));
  }
  const by = [...new Set(same.map(({ of }) => nameOf(results[of]!)))];
  return `${[...said.values()].join(' / ')} [found by ${by.join(', ')}]`;
};

const nameOf = ({ title, assignee }: Result): string =>
  sanitizeFinding(`${assignee ?? 'unknown'} (${title})`).replaceAll(']', ')');
