// gather@1: the answers of several children, each under its own name. An incomplete result never looks complete.
//
//   gather-names-finders. Everything found is under the names of all who found it.
//   gather-names-missing-first. Children that timed out, failed or were refused are named first.
//   gather-shows-evenly. How much is shown of an answer does not depend on the other answers.
import { readEnvelope, envelopeErrorText, operationFailure, missingText, splitIfLong } from './child-result.ts';
import { sourceCall, failureText, toolMessage } from './dialog.ts';
import { mergedBlocks, numberDuplicates } from './merge-results.ts';
import type { NamedAnswer } from './merge-results.ts';
import { bytesForEach, outputName } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** Sources: the call, then for each task its child operation and, unless refused, its crossing. Numbers: most bytes shown, then the number of each task's output. */
export const gatherRule: Rule = ([call, ...rest], [bytesMax = 0, ...numbers]) => {
  const { id, name, input } = sourceCall(call);
  const agents = requestedAgents(input);
  const names = numberDuplicates(agents);
  const missing: string[] = [];
  const answers: NamedAnswer[] = [];
  pairAnswers(rest).forEach(({ operation, crossing }, index) => {
    const by = names[index]!;
    if (crossing === undefined) return void missing.push(`- ${by}: ${failureText(operationFailure(operation))}`);
    const envelope = readEnvelope(crossing);
    if (envelope.status !== 'completed')
      missing.push(`- ${by}: ${envelope.status}.${envelopeErrorText(envelope)}${missingText(envelope)}`);
    if (envelope.output.trim() === '') return;
    const output = outputName(agents[index]!, numbers[index] ?? 1, 'txt');
    const shown = splitIfLong(envelope.output, bytesForEach(bytesMax, agents.length), output);
    answers.push({ heading: `### Found by ${by}`, by, ...shown });
  });
  const isEmpty = answers.length === 0;
  const blocks = isEmpty ? ['No findings.'] : mergedBlocks(answers);
  return toolMessage(id, name, {
    type: isEmpty ? 'error-text' : 'text',
    value: [gatherHeading(names, missing), ...blocks].join('\n\n'),
  });
};

type Answer = { readonly operation: ResolvedSource; readonly crossing: ResolvedSource | undefined };

export const pairAnswers = (sources: readonly ResolvedSource[]): readonly Answer[] =>
  sources.flatMap((source, index) => {
    if (source.from !== 'operation') return [];
    const next = sources[index + 1];
    return [{ operation: source, crossing: next?.from === 'crossing' ? next : undefined }];
  });

export const requestedAgents = (input: string): readonly string[] => {
  const { tasks } = JSON.parse(input) as { tasks: readonly { agent: string }[] };
  return tasks.map(({ agent }) => agent);
};

const gatherHeading = (names: readonly string[], missing: readonly string[]): string =>
  missing.length === 0
    ? `${names.length === 1 ? 'Result from' : `Results from all ${names.length}:`} ${names.join(', ')}.`
    : `INCOMPLETE: ${missing.length} of ${names.length} did not complete.\n${missing.join('\n')}\nPartial results:`;
