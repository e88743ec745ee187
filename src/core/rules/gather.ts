// gather@1: what several children found, merged. Nothing incomplete passes as complete.
//
//   G1. Every finding names all who found it.
//   G2. Children that are late, failed or refused are named first.
import type { Envelope } from '#contracts';
import { dataFrame } from './data-frame.ts';
import { readEnvelope, errorWords, failureOf, previewIfLong } from './child-result.ts';
import { sourceCall, failureText, toolMessage } from './dialog.ts';
import { findingLine, jsonFindings, listMark, mergeFindings, sourceIn } from './findings.ts';
import type { Finding } from './findings.ts';
import { outputName } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** Of the call, then per task its child operation followed, unless refused, by its crossing; numbers: bytes shown at most, nth output. */
export const gather: Rule = ([call, ...rest], [bytesMax = 0, nth = 1]) => {
  const { id, name, input } = sourceCall(call);
  const asked = askedAgents(input);
  const answers = pairUp(rest);
  const value = gatherText(asked, answers);
  const full = value.findings.length === 0 ? 'Nothing was found.' : value.findings.map(findingLine).join('\n');
  return toolMessage(id, name, {
    type: value.findings.length === 0 ? 'error-text' : 'text',
    value: dataFrame(value.heading, previewIfLong(full, bytesMax, outputName(name, nth, 'txt'))),
  });
};

/** The merged findings as they are read back by `read_output`. */
export const gatheredText = (sources: readonly ResolvedSource[]): string => {
  const [call, ...rest] = sources;
  return gatherText(askedAgents(sourceCall(call).input), pairUp(rest))
    .findings.map(findingLine)
    .join('\n');
};

type Answer = { readonly operation: ResolvedSource; readonly crossing: ResolvedSource | undefined };

const pairUp = (sources: readonly ResolvedSource[]): readonly Answer[] =>
  sources.flatMap((source, index) => {
    if (source.from !== 'operation') return [];
    const next = sources[index + 1];
    return [{ operation: source, crossing: next?.from === 'crossing' ? next : undefined }];
  });

const askedAgents = (input: string): readonly string[] => {
  const { tasks } = JSON.parse(input) as { tasks: readonly { agent: string }[] };
  return numberDuplicates(tasks.map((task) => task.agent));
};

/** `researcher`, `researcher 2`, … when one agent is asked more than once. */
export const numberDuplicates = (agents: readonly string[]): readonly string[] =>
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
      text: text.replace(listMark, '').trim(),
      source: source ?? sourceIn(text),
      by: [name],
    }))
    .filter(({ text }) => text !== '');
};
