// A forced call of a client's only tool: the client wants JSON in the form of arguments, and runs no tool. Many libraries request JSON
// in this way.
import { CloisterError, extractJson, isObject } from '#base';
import type { AgentRequest, AnswerPiece, ClientCall, ClientTool, ServedRun } from '#contracts';
import { answerFromOutcome } from './answer.ts';

/** The answer must fit the tool's input schema. */
export const requestArguments = ({
  inputSchema,
  description,
}: ClientTool): Pick<AgentRequest, 'format' | 'schema'> => ({
  format: 'json',
  schema: description === '' ? inputSchema : { description, ...inputSchema },
});

/** The run's answer as a call of this tool, for which the run does not wait. */
export const answerAsCall = (run: ServedRun, tool: string | null): ServedRun => {
  if (tool === null) return run;
  return {
    ...run,
    pieces: () => activityOf(run.pieces()),
    pause: async () => {
      const outcome = await run.outcome;
      const { text, whole } = answerFromOutcome(outcome);
      const args = extractJson(text);
      if (!isObject(args)) throw new CloisterError('answer_schema');
      const call = { id: `call_${run.run}`, name: tool, args, json: text };
      return { calls: [call], spent: outcome.spent, ...(whole ? {} : { partial: true }) };
    },
  };
};

/** The answer is sent as a call, so it is not sent as text. */
const activityOf = async function* (pieces: AsyncIterable<AnswerPiece>): AsyncGenerator<AnswerPiece> {
  for await (const piece of pieces) if (piece.type !== 'text') yield piece;
};

/** The arguments of a call as text. */
export const callArguments = ({ args, json }: ClientCall): string => json ?? JSON.stringify(args);

/** Throws `request_invalid` if the client requests JSON in two ways at once. */
export const refuseTwoFormats = (
  tool: ClientTool | null,
  { format }: Pick<AgentRequest, 'format'>,
  field: string,
): void => {
  if (tool !== null && format === 'json')
    throw new CloisterError(
      'request_invalid',
      `${field}: cannot be combined with a forced tool, which requests JSON too.`,
    );
};
