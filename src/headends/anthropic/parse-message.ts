// Parses a Messages request into a request for a run.
//
//   message-body-parsed-or-refused. Any body becomes a request or a CloisterError that is the client's mistake and names the
//       path of the field.
//   max-tokens-has-no-effect. `max_tokens` is required, but it bounds one reply of a model, while an answer here is the work of
//       many replies, each bounded by its agent's own `maxOutputTokens`. Clients fill in a default that nobody chose, so it
//       must not cut an answer.
//   client-system-is-context. A client's system prompt becomes context for the agent, if the operator allows it; else it is
//       refused.
import { CloisterError, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, Budget, CallResult, ClientRules, ClientTool } from '#contracts';
import {
  splitDialog,
  BodyFields,
  operatorHints,
  refuseTwoFormats,
  requestArguments,
  separateResults,
  parseTool,
} from '#headends/shared';
import { checkMessageFields } from './message-fields.ts';
import { parseDialog } from './parse-dialog.ts';
import type { ParsedDialog } from './parse-dialog.ts';

type ParsedMessagesRequest = {
  readonly request: AgentRequest;
  readonly results: readonly CallResult[];
  readonly userTexts: readonly string[];
  /** False: the request holds only results of calls that a run waits for. */
  readonly hasNewInput: boolean;
  /** The tool whose arguments the answer is; null: the answer is text. */
  readonly answerTool: string | null;
  readonly stream: boolean;
  /** Whether the client sees what sub-agents and tools do. */
  readonly activity: boolean;
};

export const parseMessagesRequest = (body: Json | undefined, clients: ClientRules): ParsedMessagesRequest => {
  const fields = new BodyFields(body);
  const parsed = parseShared(fields, clients);
  const maxTokens = fields.value['max_tokens'];
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1)
    throw fields.invalid('max_tokens', 'a whole number of at least 1');
  return { ...parsed, stream: fields.flag('stream'), activity: clients.activity && wantsThinking(fields) };
};

/** Parses a request to count tokens: the same body without `max_tokens`. */
export const parseCount = (body: Json | undefined, clients: ClientRules): AgentRequest => {
  const { request, results } = parseShared(new BodyFields(body), clients);
  return { ...request, context: [...(request.context ?? []), ...results.map(({ text }) => text)] };
};

const parseShared = (
  fields: BodyFields,
  clients: ClientRules,
): Pick<ParsedMessagesRequest, 'request' | 'results' | 'userTexts' | 'hasNewInput' | 'answerTool'> => {
  const forced = parseForcedTool(fields);
  checkMessageFields(fields, clients, forced !== null);
  const agent = fields.text('model');
  const parsed = parseDialog(fields, clients);
  const context = systemContext(parsed.system, clients);
  const { dialog, results, userTexts, hasNewInput } = separateResults(parsed.turns, ({ by }) => by === 'agent');
  const { input, history } = hasNewInput ? splitDialog(dialog, 'messages') : { input: '', history: dialog };
  if (hasNewInput && input.trim() === '')
    throw new CloisterError('request_invalid', 'messages: the last message is empty.');
  const output = parseOutput(fields);
  refuseTwoFormats(forced, output, 'output_config.format');
  const request = {
    agent,
    input,
    ...(history.length === 0 ? {} : { history }),
    ...(context.length === 0 ? {} : { context }),
    ...(forced === null ? parseClientTools(fields, clients) : {}),
    ...output,
    ...(forced === null ? {} : requestArguments(forced)),
  };
  return { request, results, userTexts, hasNewInput, answerTool: forced?.name ?? null };
};

/** Only tools that the client runs itself: tools of a provider do not exist here. */
const parseClientTools = (fields: BodyFields, clients: ClientRules): Pick<AgentRequest, 'tools' | 'oneCall'> => {
  if (!clients.tools || !fields.has('tools')) return {};
  const tools = fields.items('tools').map(parseCustomTool);
  const choice = fields.optionalObject('tool_choice') ?? {};
  if (tools.length === 0 || choice['type'] === 'none') return {};
  return { tools, ...(choice['disable_parallel_tool_use'] === true ? { oneCall: true } : {}) };
};

const parseCustomTool = (tool: BodyFields): ClientTool => {
  const type = tool.optionalText('type') ?? 'custom';
  if (type === 'custom') return parseTool(tool, 'input_schema');
  const reason = `only custom tools are supported, not ${JSON.stringify(type.slice(0, 40))}.`;
  throw new CloisterError('request_unsupported', `${tool.path('type')}: ${reason}`);
};

/** The client's only tool, if the client forces the model to call it; else null. */
const parseForcedTool = (fields: BodyFields): ClientTool | null => {
  const { tools, tool_choice: choice } = fields.value;
  if (!Array.isArray(tools) || tools.length !== 1 || !isObject(choice)) return null;
  if (choice['type'] !== 'any' && choice['type'] !== 'tool') return null;
  const [tool = null] = fields.items('tools').map(parseCustomTool);
  return choice['type'] === 'any' || choice['name'] === tool?.name ? tool : null;
};

const systemContext = (system: ParsedDialog['system'], clients: ClientRules): readonly string[] => {
  const [first] = system;
  if (first !== undefined && !clients.system)
    throw new CloisterError(
      'request_unsupported',
      `${first.path}: client system prompts are not allowed here; the agent has its own. ${operatorHints.system}`,
    );
  return system.map(({ text }) => text);
};

type OutputFields = Pick<AgentRequest, 'format' | 'schema' | 'budget'>;

const parseOutput = (fields: BodyFields): OutputFields => {
  const config = fields.has('output_config') ? fields.fields('output_config') : null;
  config?.allowOnly(['effort', 'format', 'task_budget']);
  const formats = [
    ...(config?.has('format') === true ? [config.fields('format')] : []),
    ...(fields.has('output_format') ? [fields.fields('output_format')] : []),
  ];
  if (formats.length > 1)
    throw new CloisterError(
      'request_invalid',
      'output_format: cannot be combined with output_config.format; send only the latter.',
    );
  const schema = formats.map(parseSchema)[0];
  const budget = config?.has('task_budget') === true ? parseTaskBudget(config.fields('task_budget')) : undefined;
  return {
    ...(schema === undefined ? {} : { format: 'json', schema }),
    ...(budget === undefined ? {} : { budget }),
  };
};

const parseSchema = (format: BodyFields): JsonObject => {
  if (format.oneOf('type', ['json_schema']) === undefined) throw format.invalid('type', 'json_schema');
  return format.object('schema');
};

/** Anthropic only tells the model about this bound; here it is enforced as a budget. */
const parseTaskBudget = (budget: BodyFields): Budget => {
  if (budget.oneOf('type', ['tokens']) === undefined) throw budget.invalid('type', 'tokens');
  const name = budget.has('remaining') ? 'remaining' : 'total';
  const tokens = budget.value[name];
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1)
    throw budget.invalid(name, 'a whole number of at least 1');
  return { tokens };
};

/** Whether the client wants thinking blocks. How much a model thinks is decided by the agent's definition. */
const wantsThinking = (fields: BodyFields): boolean => {
  const thinking = fields.optionalObject('thinking');
  return thinking?.['type'] !== 'disabled' && thinking?.['display'] !== 'omitted';
};
