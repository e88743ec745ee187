// A parsed run request, from a query or from a body.
import { CloisterError, parseStrictJson } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest } from '#contracts';

export type ParsedRunRequest = {
  readonly request: AgentRequest;
  /** Null: the client did not say. */
  readonly stream: boolean | null;
  /** False: reply as soon as the run has started. True for a resident run: wait for the answer to its first message. */
  readonly waits: boolean;
  readonly details: boolean;
};

export const answerFormats = ['text', 'markdown', 'json'] as const;

/** The format of the answer. A schema without a format means JSON. */
export const parseAnswerFormat = (
  format: AgentRequest['format'],
  schema: JsonObject | undefined,
): Pick<AgentRequest, 'format'> & Pick<AgentRequest, 'schema'> => {
  if (schema === undefined) return format === undefined ? {} : { format };
  if (format !== undefined && format !== 'json')
    throw new CloisterError('request_invalid', `schema: only allowed with the format json, not ${format}.`);
  return { format: 'json', schema };
};

/** The text itself, or the object that it holds for an agent with JSON input. */
export const parseInputText = (text: string, field: string, agent: Agent): string | JsonObject =>
  agent.input.format === 'json' ? parseJsonObject(text, field) : text;

export const parseJsonObject = (text: string, field: string): JsonObject => {
  const read = parseStrictJson(text, depthMax);
  if ('problem' in read)
    throw new CloisterError('request_invalid', `${field}: expected a JSON object as text. ${read.problem}`);
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CloisterError('request_invalid', `${field}: expected a JSON object as text; got a different JSON value.`);
  return value as JsonObject;
};

const depthMax = 64;
