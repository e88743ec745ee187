// Findings: what they are taken from, which of them are the same, and how one is told with the names of all who found it.
import { oneLineOf } from './data-frame.ts';

export type Finding = { readonly text: string; readonly source: string | null; readonly by: readonly string[] };

/** What stands before an item of a list. */
export const listMark = /^\s*(?:[-*•]|\d+[.)])\s+/u;

/** Those of an answer in JSON that lists them; null when it does not. */
export const jsonFindings = (output: string): readonly { text: string; source: string | null }[] | null => {
  try {
    const { findings, ...rest } = JSON.parse(output) as { findings?: unknown };
    if (!Array.isArray(findings)) return null;
    // What else the answer holds is not lost.
    const others = Object.entries(rest).map(([key, value]) => ({ text: `${key}: ${wordsOf(value)}`, source: null }));
    return [...findings.map(jsonFinding), ...others];
  } catch {
    return null;
  }
};

const jsonFinding = (finding: unknown): { text: string; source: string | null } => {
  if (typeof finding !== 'object' || finding === null) return { text: wordsOf(finding), source: null };
  const { text, source } = finding as { text?: unknown; source?: unknown };
  return {
    text: typeof text === 'string' ? text : wordsOf(finding),
    source: typeof source === 'string' ? source : null,
  };
};

const wordsOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export const sourceIn = (text: string): string | null => /https?:\/\/[^\s)>\]"']+/u.exec(text)?.[0] ?? null;

/** Findings with the same normalised text, or the same source, become one under all finders' names. */
export const mergeFindings = (findings: readonly Finding[]): readonly Finding[] =>
  groupFindings(findings.map(findingKeys)).map((group) => joined(group.map((index) => findings[index]!)));

/** Which of these are the same, by the keys of each: their places, in the order in which they first come. */
export const groupFindings = (keys: readonly (readonly string[])[]): readonly (readonly number[])[] => {
  // A forest: each finding points to an earlier one that it is the same as.
  const roots = keys.map((_, index) => index);
  const rootOf = (index: number): number => {
    while (roots[index] !== index) index = roots[index] = roots[roots[index]!]!;
    return index;
  };
  const known = new Map<string, number>();
  keys.forEach((all, index) => {
    for (const key of all) {
      const [one, other] = [rootOf(known.get(key) ?? index), rootOf(index)];
      roots[Math.max(one, other)] = Math.min(one, other);
      known.set(key, Math.min(one, other));
    }
  });
  const groups = new Map<number, number[]>();
  keys.forEach((_, index) => {
    const root = rootOf(index);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [index]);
    else group.push(index);
  });
  return [...groups.values()];
};

/** Two that have one of these in common are the same finding. */
export const findingKeys = ({ text, source }: Pick<Finding, 'text' | 'source'>): readonly string[] => [
  `text ${normaliseText(text)}`,
  ...(source === null ? [] : [`source ${address(source)}`]),
];

/** Another wording from the same source is kept beside the first. */
const joined = (group: readonly Finding[]): Finding => {
  const texts = new Map<string, string>();
  for (const { text } of group) if (!texts.has(normaliseText(text))) texts.set(normaliseText(text), text);
  return {
    text: [...texts.values()].join(' / '),
    source: group.find(({ source }) => source !== null)?.source ?? null,
    by: [...new Set(group.flatMap(({ by }) => by))],
  };
};

/** As a browser reads it, if it is a URL. */
const address = (source: string): string => {
  const plain = source.trim().replace(/[.,;]+$/u, '');
  return URL.canParse(plain) ? new URL(plain).href : plain;
};

/** Case, spacing, and the marks around a text do not make it another one; signs inside it do. */
export const normaliseText = (text: string): string =>
  oneLineOf(text.normalize('NFKC').toLowerCase()).replace(/^["'*_`\s]+|["'*_`\s.,;:!?]+$/gu, '') || text;

/** One line, and no finder's names but the runtime's. */
export const sanitizeFinding = (text: string): string =>
  oneLineOf(text.replace(/\p{Default_Ignorable_Code_Point}/gu, '')).replace(/\[(?=\s*found by)/giu, '(');

export const findingLine = ({ text, source, by }: Finding): string => {
  const from = source === null || text.includes(source) ? '' : ` (${sanitizeFinding(source)})`;
  return `- ${sanitizeFinding(text)}${from} [found by ${by.join(', ')}]`;
};
