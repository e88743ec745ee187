// How a run ended, for protocols that return either an answer or an error.
import { CloisterError, extractJson, isObject } from '#base';
import type { JsonObject } from '#base';
import type {
  Cause,
  ClientCall,
  RunOutcome,
  ServedRun,
  SpentTokens,
  AgentRequest,
  AnswerPiece,
  ClientTool,
} from '#contracts';
import { RunFailedError } from './client-failure.ts';

/** `whole`: false if something kept the run from finishing; `text` is then a partial answer. */
type ServedAnswer = { readonly text: string; readonly whole: boolean };

/** Throws if there is no answer: with its code, and with the causes if the caller sees them. */
export const answerFromOutcome = async (
  { status, output, failure }: RunOutcome,
  run: Pick<ServedRun, 'causes'>,
): Promise<ServedAnswer> => {
  if (output !== '' && status !== 'failed' && status !== 'cancelled')
    return { text: output, whole: status === 'completed' };
  throw new RunFailedError(failure ?? { code: status === 'cancelled' ? 'cancelled' : 'defect' }, await run.causes());
};

/** The name that the ids of an answer are built from. A run with client tools takes several requests, so each answer gets a number. */
export const answerName = ({ run, nth }: ServedRun): string => (nth === undefined ? run : `${run}_${nth}`);

/** How the answer to one request ends. `calls`: calls of the client's tools that the run waits for; if there are any, there is no answer yet. */
export type AnswerEnd = {
  readonly spent: SpentTokens;
  readonly answer: ServedAnswer;
  readonly calls: readonly ClientCall[];
  /** Undefined for a caller who does not see causes. */
  readonly causes: readonly Cause[] | undefined;
};

/** Call it after reading the pieces, if they are read at all. Throws if there is no answer. */
export const awaitAnswerEnd = async (run: ServedRun): Promise<AnswerEnd> => {
  const pause = (await run.pause?.()) ?? null;
  if (pause !== null)
    return { ...pause, answer: { text: '', whole: pause.partial !== true }, causes: await run.causes() };
  const outcome = await run.outcome;
  const answer = await answerFromOutcome(outcome, run);
  return { spent: outcome.spent, answer, calls: [], causes: await run.causes() };
};

/**
 * What failed although there is an answer, as an additional field of an answer in OpenAI's or Anthropic's format, whose clients
 * ignore fields that they do not know. There is no such field if nothing failed, or if the caller does not see causes.
 */
export const causesField = (
  causes: readonly Cause[] = [],
): { readonly cloister?: { readonly causes: readonly Cause[] } } =>
  causes.length === 0 ? {} : { cloister: { causes } };

/** The schema of that field. */
export const causesFieldSchema: JsonObject = {
  type: 'object',
  properties: { causes: { type: 'array', items: { type: 'object' } } },
  description: 'Only if something failed and the token shows causes: every failure, as in the REST API.',
};

type CollectedAnswer = { readonly text: string; readonly activity: string };

/**
 * What a client that waits for the whole answer gets besides it: the activity of sub-agents and tools, if that is shown, and the text that
 * came before calls of its own tools.
 */
export const collectPieces = async (run: ServedRun, activity: boolean): Promise<CollectedAnswer> => {
  const collected = { text: '', activity: '' };
  if (!activity && run.pause === undefined) return collected;
  for await (const { type, text } of run.pieces())
    if (type === 'text') collected.text += text;
    else if (activity) collected.activity += text;
  return collected;
};

/**
 * A piece as a streamed part of a message; null: it is not shown. Where a protocol has no questions to people, they are shown as activity or,
 * if that is not shown, as text: in the stream only, they are no part of the answer.
 */
export const shownPiece = (
  { type, text }: AnswerPiece,
  activity: boolean,
): { readonly type: 'text' | 'activity'; readonly text: string } | null => {
  if (text === '') return null;
  if (type === 'question') return activity ? { type: 'activity', text } : { type: 'text', text: `\n\n${text}\n` };
  return type === 'text' || activity ? { type, text } : null;
};

// A forced call of a client's only tool: the client wants JSON in the form of arguments, and runs no tool. Many libraries request JSON
// in this way.
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
      const { text, whole } = await answerFromOutcome(outcome, run);
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
