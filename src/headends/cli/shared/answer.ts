// The outcome of a run for programs, and what people are told besides the answer.
import type { Json, RunId } from '#base';
import type { AgentMessage, Answer, Cloister, Outcome, RunOutcome } from '#contracts';
import type { CommandContext } from './define-command.ts';
import { newTextRenderer } from './answer-view.ts';
import { cliFailureJson } from './errors.ts';
import { renderText } from './markdown.ts';
import { sanitizeBlock, sanitizeLine } from './sanitize-text.ts';

export const cliOutcomeJson = ({ run, status, output, data, failure, spent, missing, spawned = [] }: RunOutcome) => ({
  run,
  status,
  output,
  data,
  error: failure === null ? null : cliFailureJson(failure),
  spent,
  missing,
  spawned,
});

/**
 * The outcome as it is printed. The output of a run that was stopped may be what its agent said before it called a tool, which is no
 * answer; the report knows. What cannot be read is not called an answer either.
 */
export const printedOutcome = async (outcome: RunOutcome, cloister: Pick<Cloister, 'show'>): Promise<RunOutcome> => {
  const { status, output, run } = outcome;
  if (status === 'completed' || status === 'partial' || output === '') return outcome;
  const answer = await cloister.show(run).then(
    (report) => report.output,
    () => '',
  );
  return { ...outcome, output: answer };
};

/** The agents whose answers are missing; for spawned ones also why. */
export const missingAgentLines = ({
  missing,
  spawned = [],
}: Pick<Outcome, 'missing' | 'spawned'>): readonly string[] => {
  const reasons = spawned.flatMap(({ agent, why }) => (why === null ? [] : [`- ${agent}: ${why}`]));
  const lines = missing.length === 0 ? [] : [`no complete answer from: ${missing.join(', ')}`, ...reasons];
  return lines.map((line) => sanitizeLine(line));
};

/** What spawned agents wrote that the agent did not read. It is no part of the answer, so it is not printed with it. */
export const spawnedLines = ({ spawned = [] }: Pick<Outcome, 'spawned'>): readonly string[] =>
  spawned.flatMap(({ agent, cell, output, bytes }) =>
    output === ''
      ? []
      : [
          '',
          sanitizeLine(`from ${agent}, which the answer does not include:`),
          sanitizeBlock(output).trimEnd(),
          ...(bytes === undefined ? [] : [sanitizeLine(`(the beginning of ${bytes} bytes; all of it: cell ${cell})`)]),
        ],
  );

/** Marks what an agent says at another time than in reply to the newest message. */
export const printMessage = (
  { agent_id, unasked, text }: AgentMessage,
  { terminal, output: { out } }: CommandContext,
  plain: boolean,
): void => {
  const mark = `[${sanitizeLine(agent_id)}, ${unasked ? 'unasked' : 'to an earlier message'}]`;
  const message = `${mark} ${sanitizeBlock(text).trimEnd()}`.trimEnd();
  if (terminal.stdout.isTTY === true) out.print('', ...renderText(message, newTextRenderer(out, plain)));
  else out.print(message);
};

/** The answer to one message of a session that continues, or what an agent says unasked. */
export type AnswerReport = Answer & { readonly run: RunId; readonly data: Json; readonly unasked: boolean };

export const cliAnswerJson = (report: AnswerReport) => {
  const { run, id, correlation_id, agent_id, status, text, data, error, unasked } = report;
  return {
    run,
    message: id,
    answers: correlation_id,
    agent: agent_id,
    status,
    output: text,
    data,
    error: error === null ? null : cliFailureJson({ code: error }),
    unasked,
  };
};

/** The value that a text is, if it is JSON. */
export const jsonOrNull = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
};
