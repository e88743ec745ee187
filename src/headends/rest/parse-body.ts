// A run that is asked for in a body: POST /v1/:agent.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { Agent, AgentRequest, Budget, DialogMessage } from '#contracts';
import { BodyFields } from '#headends/shared';
import { refuseUnknown } from './unknown-name.ts';
import { formats, formOf, inputOf } from './parsed-run-request.ts';
import type { ParsedRunRequest } from './parsed-run-request.ts';

export const bodyNames = [
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

export const budgetNames = ['tokens', 'usd', 'ms', 'spawns', 'memory'] as const;

export const parseBody = (body: Json | undefined, agent: Agent): ParsedRunRequest => {
  const fields = knownFields(new BodyFields(body), bodyNames);
  const resident = fields.flag('resident');
  const waits = fields.has('wait') ? fields.flag('wait') : !resident;
  const stream = fields.has('stream') ? fields.flag('stream') : null;
  const details = fields.flag('details');
  refuseTogether(fields, { resident, waits, stream, details });
  const wanted: AgentRequest = {
    agent: agent.name,
    input: bodyInput(fields, agent),
    ...formOf(fields.oneOf('format', formats), fields.optionalObject('schema')),
    ...further(fields),
    ...(resident ? { resident } : {}),
  };
  return { asked: wanted, stream, waits, details };
};

/** A body that may be left out, and has nothing to say if it is there. */
export const refuseBody = (body: Json | undefined): void => {
  if (body !== undefined && body !== null) knownFields(new BodyFields(body), []);
};

export const knownFields = (fields: BodyFields, known: readonly string[], path = ''): BodyFields => {
  refuseUnknown(Object.keys(fields.value), { what: 'field', known, path });
  return fields;
};

const bodyInput = (fields: BodyFields, agent: Agent): string | JsonObject => {
  const { input } = fields.value;
  if (typeof input === 'string') return inputOf(input, 'input', agent);
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input as JsonObject;
  throw fields.invalid('input', 'a text, or an object as the agent takes it');
};

const further = (fields: BodyFields): Omit<AgentRequest, 'agent' | 'input'> => {
  const conversation = fields.optionalText('conversation');
  return {
    ...(fields.has('budget') ? { budget: budgetIn(fields.fields('budget')) } : {}),
    ...(fields.has('context') ? { context: fields.texts('context') } : {}),
    ...(fields.has('history') ? { history: fields.items('history').map(saidIn) } : {}),
    ...(conversation === undefined ? {} : { conversation }),
  };
};

const budgetIn = (fields: BodyFields): Budget => {
  knownFields(fields, budgetNames, 'budget.');
  const given = budgetNames.flatMap((name) => {
    const value = fields.optionalNumber(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
};

const saidIn = (fields: BodyFields, place: number): DialogMessage => {
  knownFields(fields, ['by', 'text'], `history[${place}].`);
  const by = fields.oneOf('by', ['person', 'agent']);
  if (by === undefined) throw fields.invalid('by', 'one of person, agent');
  return { by, text: fields.text('text') };
};

type Ways = Pick<ParsedRunRequest, 'stream' | 'waits' | 'details'> & { readonly resident: boolean };

/** What cannot both be had is refused: else one of them would be dropped in silence. */
const refuseTogether = (fields: BodyFields, { resident, waits, stream, details }: Ways): void => {
  if (fields.has('history') && fields.has('conversation'))
    throw together('history and conversation', 'A conversation knows by itself what was said.');
  const unfit = resident ? ['format', 'schema', 'history'].find((name) => fields.has(name)) : undefined;
  if (unfit !== undefined) throw together(`resident and ${unfit}`, 'It answers many messages, each in its own form.');
  const apart = resident ? 'resident' : 'wait: false';
  if ((resident || !waits) && stream === true)
    throw together(`${apart} and stream`, 'Follow it at the address of its events.');
  if ((resident || !waits) && details) throw together(`${apart} and details`, 'GET /v1/runs/<run> has them.');
};

const together = (what: string, why: string): CloisterError =>
  new CloisterError('request_invalid', `${what}: not both. ${why}`);
