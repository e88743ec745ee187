// Merges task results: a finding that several results share is listed once, with the names of all who found it.
import type { DependencyHead } from '#contracts';
import {
  findingKeys,
  groupFindings,
  sanitizeFinding,
  jsonFindings,
  listMark,
  normaliseText,
  findUrl,
} from './findings.ts';

type Result = Pick<DependencyHead, 'title' | 'assignee'> & { readonly text: string };
type Line = {
  readonly text: string;
  readonly resultIndex: number;
  readonly source: string | null;
  /** Whether other results may contain the same finding. */
  readonly isFinding: boolean;
};

/** The text of each result, in the same order: its lines unchanged, except that a line an earlier result has too is omitted. */
export const mergeResults = (results: readonly Result[]): readonly string[] => {
  const lines = results.flatMap((result, resultIndex) =>
    resultLines(result).map((line): Line => ({ ...line, resultIndex })),
  );
  const findingLines = lines.filter(({ isFinding }) => isFinding);
  const groups = groupFindings(
    findingLines.map(({ text, source }) => findingKeys({ text: stripListMark(text), source })),
  );
  const mergedText = new Map<Line, string>();
  const duplicates = new Set<Line>();
  for (const group of groups) {
    if (group.length < 2) continue;
    const [own, ...rest] = group.map((index) => findingLines[index]!);
    // A repetition within one result is kept.
    const others = rest.filter(({ resultIndex }) => resultIndex !== own!.resultIndex);
    if (others.length === 0) continue;
    mergedText.set(own!, mergeLines([own!, ...others], results));
    for (const line of others) duplicates.add(line);
  }
  const texts: string[][] = results.map(() => []);
  for (const line of lines) if (!duplicates.has(line)) texts[line.resultIndex]!.push(mergedText.get(line) ?? line.text);
  return texts.map((kept, index) =>
    kept.every((line) => line.trim() === '') && results[index]!.text.trim() !== ''
      ? '(Everything here is already listed above.)'
      : kept.join('\n'),
  );
};

const resultLines = ({ text }: Result): readonly Omit<Line, 'resultIndex'>[] => {
  const listed = jsonFindings(text);
  if (listed !== null)
    return listed.map(({ text: finding, source }) => ({
      text: `- ${sanitizeFinding(finding)}${source === null || finding.includes(source) ? '' : ` (${sanitizeFinding(source)})`}`,
      source: source ?? findUrl(finding),
      isFinding: true,
    }));
  return text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u).map((line) => {
    const source = findUrl(line);
    return { text: sanitizeLine(line), source, isFinding: source !== null || hasSubstance(line) };
  });
};

/** A closing bracket or a one-word heading is not a finding. */
const hasSubstance = (line: string): boolean => (stripListMark(line).match(/[\p{L}\p{N}]+/gu)?.length ?? 0) >= 3;

const stripListMark = (line: string): string => line.replace(listMark, '').trim();

const sanitizeLine = (line: string): string =>
  line.replace(/\p{Default_Ignorable_Code_Point}/gu, '').replace(/[[［](?=\s*found\s+by)/giu, '(');

/** The first wording, followed by other wordings from the same source. */
const mergeLines = (same: readonly Line[], results: readonly Result[]): string => {
  const [first, ...rest] = same;
  const variants = new Map([[normaliseText(stripListMark(first!.text)), first!.text]]);
  for (const { text } of rest) {
    const key = normaliseText(stripListMark(text));
    if (!variants.has(key)) variants.set(key, sanitizeFinding(stripListMark(text)));
  }
  const by = [...new Set(same.map(({ resultIndex }) => resultName(results[resultIndex]!)))];
  return `${[...variants.values()].join(' / ')} [found by ${by.join(', ')}]`;
};

const resultName = ({ title, assignee }: Result): string =>
  sanitizeFinding(`${assignee ?? 'unknown'} (${title})`).replaceAll(']', ')');
