// Findings: how the lines of an answer are read, which of them are the same, and which sources they cite.
import { lineBreak, toOneLine } from './data-frame.ts';

/** A line of an answer as it is shown. */
export type AnswerLine = {
  readonly text: string;
  /** The same in the lines of other answers if they say the same; null for a line that says nothing by itself. */
  readonly key: string | null;
  /** What the line cites, in the form in which equal sources are equal. */
  readonly sources: readonly string[];
};

/** The `findings` of a JSON answer, each as one line, or else the lines of the text as they are. */
export const answerLines = (answer: string): readonly AnswerLine[] =>
  jsonFindings(answer)?.map(({ text, source }) => {
    const cited = source === null || text.includes(source) ? '' : ` (${toOneLine(source)})`;
    return answerLine(`- ${toOneLine(text)}${cited}`, source);
  }) ?? answer.split(/* probe: answer-line-break */ lineBreak).map((line) => answerLine(line, null));

const answerLine = (text: string, source: string | null): AnswerLine => {
  const sources = [...(source === null ? [] : [source]), ...(text.match(url) ?? [])].map(normaliseSource);
  const saysSomething = sources.length > 0 || isListItem(text) || (text.match(word)?.length ?? 0) >= 3;
  return {
    text,
    /* probe: finding-key */ key: saysSomething ? normaliseText(text) : null,
    sources: [...new Set(sources)],
  };
};

const url = /https?:\/\/[^\s)>\]"']+/gu;
const word = /[\p{L}\p{N}]+/gu;

/** A closing bracket or a one-word heading says nothing by itself; a list item of one word does. */
const isListItem = (line: string): boolean => /^\s*(?:[-*•]|\d+[.)])\s+.*[\p{L}\p{N}]/u.test(line);

/** The findings listed in a JSON answer; null if it lists none. */
const jsonFindings = (output: string): readonly { text: string; source: string | null }[] | null => {
  try {
    const { findings, ...rest } = JSON.parse(output) as { findings?: unknown };
    if (!Array.isArray(findings)) return null;
    // The other fields of the answer are kept as findings, so that nothing is lost.
    const others = Object.entries(rest).map(([key, value]) => ({ text: `${key}: ${valueText(value)}`, source: null }));
    return [...findings.map(jsonFinding), ...others];
  } catch {
    return null;
  }
};

const jsonFinding = (finding: unknown): { text: string; source: string | null } => {
  if (typeof finding !== 'object' || finding === null) return { text: valueText(finding), source: null };
  const { text, source } = finding as { text?: unknown; source?: unknown };
  return {
    text: typeof text === 'string' ? text : valueText(finding),
    source: typeof source === 'string' ? source : null,
  };
};

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/**
 * Two lines are the same if they differ at most in white space, in canonically equivalent characters (NFC), in a bullet before a
 * letter, and in a full stop after the last letter or digit. Everything else can change the meaning and counts: case (mW, MW),
 * compatibility forms (10², 102), signs (- 5, 5), list numbers (a ranking) and other punctuation (so? so!).
 */
export const normaliseText = (text: string): string =>
  /* probe: normalise-text */ toOneLine(text.normalize('NFC'))
    .replace(/^[-*•] (?=\p{L})/u, '')
    .replace(/(?<=[\p{L}\p{N}])\.$/u, '');

/** A URL in the form a browser normalises it to. */
const normaliseSource = (source: string): string => {
  const plain = trimEnd(source.trim(), '.,;');
  return URL.canParse(plain) ? new URL(plain).href : plain;
};

/** Removes such characters at the end. `/…+$/` would start again at each of them where there are many in a row. */
const trimEnd = (text: string, unwanted: string): string => {
  let end = text.length;
  while (end > 0 && unwanted.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
};
