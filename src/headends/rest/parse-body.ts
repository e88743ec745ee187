// Parses a run request from a body: POST /v1/:agent.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { Agent, AgentRequest, Budget, DialogMessage } from '#contracts';
import { BodyFields } from '#headends/shared';
import { refuseUnknown } from './unknown-name.ts';
import { answerFormats, parseAnswerFormat, parseInputText } from './parsed-run-request.ts';
import type { ParsedRunRequest } from './parsed-run-request.ts';

export const bodyFieldNames = [
  'input',
  'format',
  'schema',
  'budget',
  'context',
  'conversation',
  'history',
  'resident',
  'wait',
  'stream',
  'details',
] as const;

export const budgetFieldNames = ['tokens', 'usd', 'ms', 'spawns', 'memory'] as const;

export const parseBody = (body: Json | undefined, agent: Agent): ParsedRunRequest => {
  const fields = checkFieldNames(new BodyFields(body), bodyFieldNames);
  const resident = fields.flag('resident');
  const waits = fields.has('wait') ? fields.flag('wait') : !resident;
  const stream = fields.has('stream') ? fields.flag('stream') : null;
  const details = fields.flag('details');
  refuseCombinations(fields, { resident, waits, stream, details });
  const request: AgentRequest = {
    agent: agent.name,
    input: parseBodyInput(fields, agent),
    ...parseAnswerFormat(fields.oneOf('format', answerFormats), fields.optionalObject('schema')),
    ...parseOptionalFields(fields),
    ...(resident ? { resident } : {}),
  };
  return { request, stream, waits, details };
};

/** Throws unless the body is missing or an empty object. */
export const refuseBody = (body: Json | undefined): void => {
  if (body !== undefined && body !== null) checkFieldNames(new BodyFields(body), []);
};

export const checkFieldNames = (fields: BodyFields, known: readonly string[], path = ''): BodyFields => {
  refuseUnknown(Object.keys(fields.value), { what: 'field', known, path });
  return fields;
};

const parseBodyInput = (fields: BodyFields, agent: Agent): string | JsonObject => {
  const { input } = fields.value;
  if (typeof input === 'string') return parseInputText(input, 'input', agent);
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as JsonObject;
  throw fields.invalid('input', 'a string, or an object that matches the agent’s input schema');
};

const parseOptionalFields = (fields: BodyFields): Omit<AgentRequest, 'agent' | 'input'> => {
  const conversation = fields.optionalText('conversation');
  return {
    ...(fields.has('budget') ? { budget: parseBudget(fields.fields('budget')) } : {}),
    ...(fields.has('context') ? { context: fields.texts('context') } : {}),
    ...(fields.has('history') ? { history: fields.items('history').map(parseHistoryMessage) } : {}),
    ...(conversation === undefined ? {} : { conversation }),
  };
};

const parseBudget = (fields: BodyFields): Budget => {
  checkFieldNames(fields, budgetFieldNames, 'budget.');
  const entries = budgetFieldNames.flatMap((name) => {
    const value = fields.optionalNumber(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
};

const parseHistoryMessage = (fields: BodyFields, index: number): DialogMessage => {
  checkFieldNames(fields, ['by', 'text'], `history[${index}].`);
  const by = fields.oneOf('by', ['person', 'agent']);
  if (by === undefined) throw fields.invalid('by', 'one of person, agent');
  return { by, text: fields.text('text') };
};

type RunModes = Pick<ParsedRunRequest, 'stream' | 'waits' | 'details'> & { readonly resident: boolean };

/** Refuses fields that cannot be combined: otherwise one of them would be ignored silently. */
const refuseCombinations = (fields: BodyFields, { resident, waits, stream, details }: RunModes): void => {
  if (fields.has('history') && fields.has('conversation'))
    throw cannotCombine('history and conversation', 'A conversation already has its own history.');
  const conflicting = resident ? ['format', 'schema', 'history'].find((name) => fields.has(name)) : undefined;
  if (conflicting !== undefined)
    throw cannotCombine(
      `resident and ${conflicting}`,
      'A resident agent answers many messages, each in its own format.',
    );
  const detached = resident ? 'resident' : 'wait: false';
  if ((resident || !waits) && stream === true)
    throw cannotCombine(`${detached} and stream`, 'Follow the run at its `events` path.');
  if ((resident || !waits) && details)
    throw cannotCombine(`${detached} and details`, 'Get them with GET /v1/runs/<run>.');
};

const cannotCombine = (what: string, why: string): CloisterError =>
  new CloisterError('request_invalid', `${what} cannot be combined. ${why}`);
