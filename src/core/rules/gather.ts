// gather@1: merges the findings of several children. An incomplete result never looks complete.
//
//   G1. Every finding names all who found it.
//   G2. Children that timed out, failed or were refused are named first.
import type { Envelope } from '#contracts';
import { dataFrame } from './data-frame.ts';
import { readEnvelope, envelopeErrorText, operationFailure, previewIfLong } from './child-result.ts';
import { sourceCall, failureText, toolMessage } from './dialog.ts';
import { findingLine, jsonFindings, listMark, mergeFindings, findUrl } from './findings.ts';
import type { Finding } from './findings.ts';
import { outputName } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** Sources: the call, then for each task its child operation and, unless refused, its crossing. Numbers: most bytes shown, number of the output. */
export const gatherRule: Rule = ([call, ...rest], [bytesMax = 0, nth = 1]) => {
  const { id, name, input } = sourceCall(call);
  const requested = requestedAgents(input);
  const answers = pairAnswers(rest);
  const merged = mergeAnswers(requested, answers);
  const full = merged.findings.length === 0 ? 'No findings.' : merged.findings.map(findingLine).join('\n');
  return toolMessage(id, name, {
    type: merged.findings.length === 0 ? 'error-text' : 'text',
    value: dataFrame(merged.heading, previewIfLong(full, bytesMax, outputName(name, nth, 'txt'))),
  });
};

/** The merged findings as `read_output` returns them. */
export const gatheredText = (sources: readonly ResolvedSource[]): string => {
  const [call, ...rest] = sources;
  return mergeAnswers(requestedAgents(sourceCall(call).input), pairAnswers(rest))
    .findings.map(findingLine)
    .join('\n');
};

type Answer = { readonly operation: ResolvedSource; readonly crossing: ResolvedSource | undefined };

const pairAnswers = (sources: readonly ResolvedSource[]): readonly Answer[] =>
  sources.flatMap((source, index) => {
    if (source.from !== 'operation') return [];
    const next = sources[index + 1];
    return [{ operation: source, crossing: next?.from === 'crossing' ? next : undefined }];
  });

const requestedAgents = (input: string): readonly string[] => {
  const { tasks } = JSON.parse(input) as { tasks: readonly { agent: string }[] };
  return numberDuplicates(tasks.map((task) => task.agent));
};

/** `researcher 1`, `researcher 2`, … if one agent is called more than once. */
export const numberDuplicates = (agents: readonly string[]): readonly string[] =>
  agents.map((agent, index) => {
    const nth = agents.slice(0, index + 1).filter((other) => other === agent).length;
    const several = agents.filter((other) => other === agent).length > 1;
    return several ? `${agent} ${nth}` : agent;
  });

const mergeAnswers = (requested: readonly string[], answers: readonly Answer[]) => {
  const missing: string[] = [];
  const findings: Finding[] = [];
  answers.forEach(({ operation, crossing }, index) => {
    const name = requested[index] ?? 'unknown';
    if (crossing === undefined) return void missing.push(`- ${name}: ${failureText(operationFailure(operation))}`);
    const envelope = readEnvelope(crossing);
    if (envelope.status !== 'completed') missing.push(`- ${name}: ${envelope.status}.${envelopeErrorText(envelope)}`);
    findings.push(...envelopeFindings(envelope, name));
  });
  const complete = missing.length === 0;
  const heading = complete
    ? `${requested.length === 1 ? 'Result from' : `Results from all ${requested.length}:`} ${requested.join(', ')}.`
    : `INCOMPLETE: ${missing.length} of ${requested.length} did not complete.\n${missing.join('\n')}\nPartial results:`;
  return { heading, findings: mergeFindings(findings) };
};

/** The `findings` of a JSON answer, or else each line of the text. */
const envelopeFindings = (envelope: Envelope, name: string): readonly Finding[] => {
  const listed = jsonFindings(envelope.output);
  const lines =
    listed ?? envelope.output.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u).map((line) => ({ text: line, source: null }));
  return lines
    .map(({ text, source }) => ({
      text: text.replace(listMark, '').trim(),
      source: source ?? findUrl(text),
      by: [name],
    }))
    .filter(({ text }) => text !== '');
};
