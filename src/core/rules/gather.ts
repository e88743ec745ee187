// gather@1: what several children found, merged. Nothing incomplete passes as complete.
//
//   G1. Every finding names all who found it.
//   G2. Children that are late, failed or refused are named first.
import type { Envelope } from '#contracts';
import { dataFrame, oneLineOf } from './data-frame.ts';
import { readEnvelope, errorWords, failureOf, shown } from './children.ts';
import { callOf, failureText, toolMessage } from './dialog.ts';
import { outputName } from './preview.ts';
import type { Resolved, Rule } from './rule.ts';

export type Finding = { readonly text: string; readonly source: string | null; readonly by: readonly string[] };

/** Of the call, then per task its child operation followed, unless refused, by its crossing; numbers: bytes shown at most, nth output. */
export const gather: Rule = ([call, ...rest], [bytesMax = 0, nth = 1]) => {
  const { id, name, input } = callOf(call);
  const asked = askedAgents(input);
  const answers = pairUp(rest);
  const value = gatherText(asked, answers);
  const full = value.findings.length === 0 ? 'Nothing was found.' : value.findings.map(findingLine).join('\n');
  return toolMessage(id, name, {
    type: value.findings.length === 0 ? 'error-text' : 'text',
    value: dataFrame(value.heading, shown(full, bytesMax, outputName(name, nth, 'txt'))),
  });
};

/** The merged findings as they are read back by `read_output`. */
export const gatheredText = (sources: readonly Resolved[]): string => {
  const [call, ...rest] = sources;
  return gatherText(askedAgents(callOf(call).input), pairUp(rest))
    .findings.map(findingLine)
    .join('\n');
};

type Answer = { readonly operation: Resolved; readonly crossing: Resolved | undefined };

const pairUp = (sources: readonly Resolved[]): readonly Answer[] =>
  sources.flatMap((source, index) => {
    if (source.from !== 'operation') return [];
    const next = sources[index + 1];
    return [{ operation: source, crossing: next?.from === 'crossing' ? next : undefined }];
  });

const askedAgents = (input: string): readonly string[] => {
  const { tasks } = JSON.parse(input) as { tasks: readonly { agent: string }[] };
  return names(tasks.map((task) => task.agent));
};

/** `researcher`, `researcher 2`, … when one agent is asked more than once. */
export const names = (agents: readonly string[]): readonly string[] =>
  agents.map((agent, index) => {
    const nth = agents.slice(0, index + 1).filter((other) => other === agent).length;
    const several = agents.filter((other) => other === agent).length > 1;
    return several ? `${agent} ${nth}` : agent;
  });

const gatherText = (asked: readonly string[], answers: readonly Answer[]) => {
  const missing: string[] = [];
  const findings: Finding[] = [];
  answers.forEach(({ operation, crossing }, index) => {
    const name = asked[index] ?? 'unknown';
    if (crossing === undefined) return void missing.push(`- ${name}: ${failureText(failureOf(operation))}`);
    const envelope = readEnvelope(crossing);
    if (envelope.status !== 'completed') missing.push(`- ${name}: ${envelope.status}.${errorWords(envelope)}`);
    findings.push(...findingsOf(envelope, name));
  });
  const complete = missing.length === 0;
  const heading = complete
    ? `Results from all ${asked.length}: ${asked.join(', ')}.`
    : `INCOMPLETE: ${missing.length} of ${asked.length} did not complete.\n${missing.join('\n')}\nWhat there is:`;
  return { heading, findings: mergeFindings(findings) };
};

/** A JSON answer's `findings`, else each line of the text. */
const findingsOf = (envelope: Envelope, name: string): readonly Finding[] => {
  const listed = jsonFindings(envelope.output);
  const lines =
    listed ?? envelope.output.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u).map((line) => ({ text: line, source: null }));
  return lines
    .map(({ text, source }) => ({
      text: text.replace(/^\s*(?:[-*•]|\d+[.)])\s+/u, '').trim(),
      source: source ?? sourceIn(text),
      by: [name],
    }))
    .filter(({ text }) => text !== '');
};

const jsonFindings = (output: string): readonly { text: string; source: string | null }[] | null => {
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

const sourceIn = (text: string): string | null => /https?:\/\/[^\s)>\]"']+/u.exec(text)?.[0] ?? null;

/** Findings with the same normalised text, or the same source, become one under all finders' names. */
export const mergeFindings = (findings: readonly Finding[]): readonly Finding[] => {
  // A forest: each finding points to an earlier one that it is the same as.
  const roots = findings.map((_, index) => index);
  const rootOf = (index: number): number => {
    while (roots[index] !== index) index = roots[index] = roots[roots[index]!]!;
    return index;
  };
  const known = new Map<string, number>();
  findings.forEach((finding, index) => {
    for (const key of keysOf(finding)) {
      const [one, other] = [rootOf(known.get(key) ?? index), rootOf(index)];
      roots[Math.max(one, other)] = Math.min(one, other);
      known.set(key, Math.min(one, other));
    }
  });
  const groups = new Map<number, Finding[]>();
  findings.forEach((finding, index) => {
    const root = rootOf(index);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [finding]);
    else group.push(finding);
  });
  return [...groups.values()].map(joined);
};

const keysOf = ({ text, source }: Finding): readonly string[] => [
  `text ${normalised(text)}`,
  ...(source === null ? [] : [`source ${address(source)}`]),
];

/** Another wording from the same source is kept beside the first. */
const joined = (group: readonly Finding[]): Finding => {
  const texts = new Map<string, string>();
  for (const { text } of group) if (!texts.has(normalised(text))) texts.set(normalised(text), text);
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
const normalised = (text: string): string =>
  oneLineOf(text.normalize('NFKC').toLowerCase()).replace(/^["'*_`\s]+|["'*_`\s.,;:!?]+$/gu, '') || text;

/** One line, and no finder's names but the runtime's. */
const harmless = (text: string): string =>
  oneLineOf(text.replace(/\p{Default_Ignorable_Code_Point}/gu, '')).replace(/\[(?=\s*found by)/giu, '(');

const findingLine = ({ text, source, by }: Finding): string => {
  const from = source === null || text.includes(source) ? '' : ` (${harmless(source)})`;
  return `- ${harmless(text)}${from} [found by ${by.join(', ')}]`;
};
