// Findings: how they are extracted, which of them are the same, and how one is rendered with the names of all who found it.
import { toOneLine } from './data-frame.ts';

export type Finding = { readonly text: string; readonly source: string | null; readonly by: readonly string[] };

/** The bullet or number before a list item. */
export const listMark = /^\s*(?:[-*•]|\d+[.)])\s+/u;

/** The findings listed in a JSON answer; null if it lists none. */
export const jsonFindings = (output: string): readonly { text: string; source: string | null }[] | null => {
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

export const findUrl = (text: string): string | null => /https?:\/\/[^\s)>\]"']+/u.exec(text)?.[0] ?? null;

/** Findings with the same normalised text, or the same source, become one under all finders' names. */
export const mergeFindings = (findings: readonly Finding[]): readonly Finding[] =>
  groupFindings(findings.map(findingKeys)).map((group) => mergeGroup(group.map((index) => findings[index]!)));

/** Groups the findings that share a key. Each group lists indices; groups are in order of first appearance. */
export const groupFindings = (keys: readonly (readonly string[])[]): readonly (readonly number[])[] => {
  // A union-find forest: each finding points to an earlier equal one.
  const roots = keys.map((_, index) => index);
  const rootOf = (index: number): number => {
    while (roots[index] !== index) index = roots[index] = roots[roots[index]!]!;
    return index;
  };
  const firstByKey = new Map<string, number>();
  keys.forEach((ownKeys, index) => {
    for (const key of ownKeys) {
      const [one, other] = [rootOf(firstByKey.get(key) ?? index), rootOf(index)];
      roots[Math.max(one, other)] = Math.min(one, other);
      firstByKey.set(key, Math.min(one, other));
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

/** Two findings with a key in common are the same finding. */
export const findingKeys = ({ text, source }: Pick<Finding, 'text' | 'source'>): readonly string[] => [
  `text ${normaliseText(text)}`,
  ...(source === null ? [] : [`source ${normaliseUrl(source)}`]),
];

/** Another wording from the same source is kept beside the first. */
const mergeGroup = (group: readonly Finding[]): Finding => {
  const texts = new Map<string, string>();
  for (const { text } of group) if (!texts.has(normaliseText(text))) texts.set(normaliseText(text), text);
  return {
    text: [...texts.values()].join(' / '),
    source: group.find(({ source }) => source !== null)?.source ?? null,
    by: [...new Set(group.flatMap(({ by }) => by))],
  };
};

/** If the source is a URL: in the form a browser normalises it to. */
const normaliseUrl = (source: string): string => {
  const plain = source.trim().replace(/[.,;]+$/u, '');
  return URL.canParse(plain) ? new URL(plain).href : plain;
};

/** Ignores case, spacing and the punctuation around a text; characters inside it count. */
export const normaliseText = (text: string): string =>
  toOneLine(text.normalize('NFKC').toLowerCase()).replace(/^["'*_`\s]+|["'*_`\s.,;:!?]+$/gu, '') || text;

/** One line in which only the runtime can write `[found by …]`. */
export const sanitizeFinding = (text: string): string =>
  toOneLine(text.replace(/\p{Default_Ignorable_Code_Point}/gu, '')).replace(/\[(?=\s*found by)/giu, '(');

export const findingLine = ({ text, source, by }: Finding): string => {
  const from = source === null || text.includes(source) ? '' : ` (${sanitizeFinding(source)})`;
  return `- ${sanitizeFinding(text)}${from} [found by ${by.join(', ')}]`;
};
