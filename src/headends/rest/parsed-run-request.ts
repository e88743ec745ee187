// What a request for a run says, whether it came as a query or as a body.
import { CloisterError, parseStrictJson } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest } from '#contracts';

export type ParsedRunRequest = {
  readonly asked: AgentRequest;
  /** Null: it is not said. */
  readonly stream: boolean | null;
  /** False: the answer is only that it has begun. Of a resident one, the answer to its first message is waited for. */
  readonly waits: boolean;
  readonly details: boolean;
};

export const formats = ['text', 'markdown', 'json'] as const;

/** The answer's form. A schema alone asks for JSON. */
export const formOf = (
  format: AgentRequest['format'],
  schema: JsonObject | undefined,
): Pick<AgentRequest, 'format'> & Pick<AgentRequest, 'schema'> => {
  if (schema === undefined) return format === undefined ? {} : { format };
  if (format !== undefined && format !== 'json')
    throw new CloisterError('request_invalid', `schema: only JSON has one, and format is ${format}. Leave one out.`);
  return { format: 'json', schema };
};

/** Words, or for an agent that takes JSON the object that they spell. */
export const inputOf = (text: string, field: string, agent: Agent): string | JsonObject =>
  agent.input.format === 'json' ? objectIn(text, field) : text;

export const objectIn = (text: string, field: string): JsonObject => {
  const read = parseStrictJson(text, depthMax);
  if ('problem' in read)
    throw new CloisterError('request_invalid', `${field}: expected the text of a JSON object. ${read.problem}`);
  const { value } = read;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new CloisterError('request_invalid', `${field}: expected the text of a JSON object; got another JSON value.`);
  return value as JsonObject;
};

const depthMax = 64;
