// A run request, from a query or from a body.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest } from '#contracts';
import { parseJsonObject } from './described-route.ts';
import type { AskQuery, RunRequestBody } from './request-shapes.ts';

export type ParsedRunRequest = {
  readonly request: AgentRequest;
  /** Null: the client did not say. */
  readonly stream: boolean | null;
  /** False: reply as soon as the run has started. True for a resident run: wait for the answer to its first message. */
  readonly waits: boolean;
  readonly details: boolean;
};

/** GET /v1/:agent?q=… */
export const requestFromQuery = (query: AskQuery, agent: Agent): ParsedRunRequest => {
  const { q, format, schema, stream = null, details = false, ...rest } = query;
  const input = inputFromText(q, 'q', agent);
  return {
    request: { agent: agent.name, input, ...answerFormat(format, schema), ...rest },
    stream,
    waits: true,
    details,
  };
};

/** POST /v1/:agent */
export const requestFromBody = (body: RunRequestBody, agent: Agent): ParsedRunRequest => {
  const { input, format, schema, resident = false, stream = null, details = false, wait = !resident, ...rest } = body;
  refuseCombinations(body, wait);
  const request: AgentRequest = {
    agent: agent.name,
    input: typeof input === 'string' ? inputFromText(input, 'input', agent) : input,
    ...answerFormat(format, schema),
    ...rest,
    ...(resident ? { resident } : {}),
  };
  return { request, stream, waits: wait, details };
};

/** The format of the answer. A schema without a format means JSON. */
const answerFormat = (
  format: AgentRequest['format'],
  schema: JsonObject | undefined,
): Pick<AgentRequest, 'format' | 'schema'> => {
  if (schema === undefined) return format === undefined ? {} : { format };
  if (format !== undefined && format !== 'json')
    throw new CloisterError('request_invalid', `schema: only allowed with the format json, not ${format}.`);
  return { format: 'json', schema };
};

/** The text itself, or the object that it holds for an agent with JSON input. */
const inputFromText = (text: string, field: string, agent: Agent): string | JsonObject =>
  agent.signature.input.format === 'json' ? parseJsonObject(text, field) : text;

/** Refuses fields that cannot be combined: otherwise one of them would be ignored silently. */
const refuseCombinations = (body: RunRequestBody, waits: boolean): void => {
  const { resident = false, stream = false, details = false } = body;
  if (body.history !== undefined && body.conversation !== undefined)
    throw cannotCombine('history and conversation', 'A conversation already has its own history.');
  const conflicting = resident
    ? (['format', 'schema', 'history'] as const).find((name) => body[name] !== undefined)
    : undefined;
  if (conflicting !== undefined)
    throw cannotCombine(
      `resident and ${conflicting}`,
      'A resident agent answers many messages, each in its own format.',
    );
  const detached = resident ? 'resident' : 'wait: false';
  if ((resident || !waits) && stream)
    throw cannotCombine(`${detached} and stream`, 'Follow the run at its `events` path.');
  if ((resident || !waits) && details)
    throw cannotCombine(`${detached} and details`, 'Get them with GET /v1/runs/<run>.');
};

const cannotCombine = (what: string, why: string): CloisterError =>
  new CloisterError('request_invalid', `${what} cannot be combined. ${why}`);
