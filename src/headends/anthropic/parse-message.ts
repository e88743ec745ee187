// A request for a message becomes a request for a run.
//
//   A1. Whatever the body is: a request, or a CloisterError that is the client's mistake, with the path of it.
//   A2. `max_tokens` must be there and is without effect: it bounds one reply of a model, while an answer here is the work of many,
//       each bounded by its agent's own `maxOutputTokens`. Clients fill in a default that nobody chose, so nothing is cut by it.
//   A3. A client's system prompt is something to know, if it is taken at all.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, Budget, CallResult, ClientRules } from '#contracts';
import { splitDialog, BodyFields, mayAllow, openResults, parseTool } from '#headends/shared';
import { checkMessageFields } from './message-fields.ts';
import { parseDialog } from './parse-dialog.ts';
import type { ParsedDialog } from './parse-dialog.ts';

export type ParsedMessagesRequest = {
  readonly asked: AgentRequest;
  readonly results: readonly CallResult[];
  readonly said: readonly string[];
  /** Else there are only results, of calls that a run waits for, and nothing is asked. */
  readonly isAsked: boolean;
  readonly stream: boolean;
  /** Whether it is shown what others do meanwhile. */
  readonly activity: boolean;
};

export const parseMessagesRequest = (body: Json | undefined, clients: ClientRules): ParsedMessagesRequest => {
  const fields = new BodyFields(body);
  const parsed = parseAsked(fields, clients);
  const most = fields.value['max_tokens'];
  if (typeof most !== 'number' || !Number.isInteger(most) || most < 1)
    throw fields.invalid('max_tokens', 'a whole number, at least 1');
  return { ...parsed, stream: fields.flag('stream'), activity: clients.activity && thinks(fields) };
};

/** What it takes to count tokens: the same without `max_tokens`. */
export const parseCount = (body: Json | undefined, clients: ClientRules): AgentRequest => {
  const { asked, results } = parseAsked(new BodyFields(body), clients);
  return { ...asked, context: [...(asked.context ?? []), ...results.map(({ text }) => text)] };
};

const parseAsked = (
  fields: BodyFields,
  clients: ClientRules,
): Pick<ParsedMessagesRequest, 'asked' | 'results' | 'said' | 'isAsked'> => {
  checkMessageFields(fields, clients);
  const agent = fields.text('model');
  const told = parseDialog(fields, clients);
  const context = contextOf(told.system, clients);
  const { dialog, results, said, isAsked } = openResults(told.turns, ({ by }) => by === 'agent');
  const { input, history } = isAsked ? splitDialog(dialog, 'messages') : { input: '', history: dialog };
  if (isAsked && input.trim() === '')
    throw new CloisterError('request_invalid', 'messages: the last message is empty.');
  const asked = {
    agent,
    input,
    ...(history.length === 0 ? {} : { history }),
    ...(context.length === 0 ? {} : { context }),
    ...toolsOf(fields, clients),
    ...outputOf(fields),
  };
  return { asked, results, said, isAsked };
};

/** Those that the client has itself; what a provider has is not here. */
const toolsOf = (fields: BodyFields, clients: ClientRules): Pick<AgentRequest, 'tools' | 'oneCall'> => {
  if (!clients.tools || !fields.has('tools')) return {};
  const tools = fields.items('tools').map((tool) => {
    const type = tool.optionalText('type') ?? 'custom';
    if (type === 'custom') return parseTool(tool, 'input_schema');
    const words = `only a client's own tools are taken, not ${JSON.stringify(type.slice(0, 40))}.`;
    throw new CloisterError('request_unsupported', `${tool.path('type')}: ${words}`);
  });
  const choice = fields.optionalObject('tool_choice') ?? {};
  if (tools.length === 0 || choice['type'] === 'none') return {};
  return { tools, ...(choice['disable_parallel_tool_use'] === true ? { oneCall: true } : {}) };
};

const contextOf = (system: ParsedDialog['system'], clients: ClientRules): readonly string[] => {
  const [first] = system;
  if (first !== undefined && !clients.system)
    throw new CloisterError(
      'request_unsupported',
      `${first.path}: an agent has its own instructions. ${mayAllow.system}`,
    );
  return system.map(({ text }) => text);
};

type Output = Pick<AgentRequest, 'format' | 'schema' | 'budget'>;

const outputOf = (fields: BodyFields): Output => {
  const config = fields.has('output_config') ? fields.fields('output_config') : null;
  config?.only(['effort', 'format', 'task_budget']);
  const formats = [
    ...(config?.has('format') === true ? [config.fields('format')] : []),
    ...(fields.has('output_format') ? [fields.fields('output_format')] : []),
  ];
  if (formats.length > 1)
    throw new CloisterError('request_invalid', 'output_format: given twice; send output_config.format only.');
  const schema = formats.map(schemaOf)[0];
  const budget = config?.has('task_budget') === true ? taskBudget(config.fields('task_budget')) : undefined;
  return {
    ...(schema === undefined ? {} : { format: 'json', schema }),
    ...(budget === undefined ? {} : { budget }),
  };
};

const schemaOf = (format: BodyFields): JsonObject => {
  if (format.oneOf('type', ['json_schema']) === undefined) throw format.invalid('type', 'json_schema');
  return format.object('schema');
};

/** What a client would have its model know as a bound is kept here as one. */
const taskBudget = (budget: BodyFields): Budget => {
  if (budget.oneOf('type', ['tokens']) === undefined) throw budget.invalid('type', 'tokens');
  const name = budget.has('remaining') ? 'remaining' : 'total';
  const tokens = budget.value[name];
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1)
    throw budget.invalid(name, 'a whole number, at least 1');
  return { tokens };
};

/** A client that wants no thoughts gets none; how much a model thinks is its agent's matter. */
const thinks = (fields: BodyFields): boolean => {
  const thinking = fields.optionalObject('thinking');
  return thinking?.['type'] !== 'disabled' && thinking?.['display'] !== 'omitted';
};
