// Parses a Messages request into a request for a run.
//
//   message-body-parsed-or-refused. Any body becomes a request or a CloisterError that is the client's mistake and names the
//       path of the field.
//   max-tokens-has-no-effect. `max_tokens` is required, but it bounds one reply of a model, while an answer here is the work of
//       many replies, each bounded by its agent's own `maxOutputTokens`. Clients fill in a default that nobody chose, so it
//       must not cut an answer.
//   client-system-after-own. A client's system prompt follows the agent's own, if the operator allows it; else it is refused.
import { CloisterError, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, Attachment, Budget, CallResult, ClientRules, ClientTool, DialogMessage } from '#contracts';
import {
  splitDialog,
  BodyFields,
  omittedFileText,
  operatorHints,
  refuseTwoFormats,
  requestArguments,
  separateResults,
  parseTool,
  withoutIgnored,
  refuseHostedTools,
} from '#headends/shared';
import type { PastCall } from '#headends/shared';
import { noThreads } from './anthropic-error.ts';
import { parseFile } from './parse-file.ts';

type ParsedMessagesRequest = {
  readonly request: AgentRequest;
  readonly results: readonly CallResult[];
  readonly userTexts: readonly string[];
  /** The tool whose arguments the answer is; null: the answer is text. */
  readonly answerTool: string | null;
  readonly stream: boolean;
  /** Whether the client sees what sub-agents and tools do. */
  readonly activity: boolean;
  /** Of the response: what of the request was ignored. */
  readonly headers: Readonly<Record<string, string>>;
};

export const parseMessagesRequest = (body: Json | undefined, clients: ClientRules): ParsedMessagesRequest => {
  const kept = withoutIgnored(body, clients, ignorableFields);
  const fields = new BodyFields(kept.body);
  const parsed = parseShared(fields, clients);
  const maxTokens = fields.value['max_tokens'];
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens < 1)
    throw fields.invalid('max_tokens', 'a whole number of at least 1');
  const activity = clients.activity && wantsThinking(fields);
  return { ...parsed, stream: fields.flag('stream'), activity, headers: kept.headers };
};

/** Parses a request to count tokens: the same body without `max_tokens`. */
export const parseCount = (body: Json | undefined, clients: ClientRules): AgentRequest =>
  parseShared(new BodyFields(withoutIgnored(body, clients, ignorableFields).body), clients).request;

const parseShared = (
  fields: BodyFields,
  clients: ClientRules,
): Pick<ParsedMessagesRequest, 'request' | 'results' | 'userTexts' | 'answerTool'> => {
  refuseHostedTools(fields, clients, { clientToolType: 'custom', own: 'custom tools' });
  const forced = parseForcedTool(fields);
  checkMessageFields(fields, clients, forced !== null);
  const agent = fields.text('model');
  const parsed = parseDialog(fields, clients);
  const system = allowedSystemTexts(parsed.system, clients);
  const { dialog, results, userTexts } = separateResults(parsed.turns, ({ by }) => by === 'agent');
  const said = splitDialog(dialog, 'messages');
  if (said.input.trim() === '') throw new CloisterError('request_invalid', 'messages: the last message is empty.');
  const output = parseOutput(fields);
  refuseTwoFormats(forced, output, 'output_config.format');
  const request = {
    agent,
    ...said,
    ...(system.length === 0 ? {} : { system }),
    ...(forced === null ? parseClientTools(fields, clients) : {}),
    ...output,
    ...(forced === null ? {} : requestArguments(forced)),
  };
  return { request, results, userTexts, answerTool: forced?.name ?? null };
};

/** Only tools that the client runs itself: tools of a provider do not exist here. */
const parseClientTools = (fields: BodyFields, clients: ClientRules): Pick<AgentRequest, 'tools' | 'oneCall'> => {
  if (!clients.tools || !fields.has('tools')) return {};
  const tools = fields.items('tools').map(parseCustomTool);
  const choice = fields.optionalObject('tool_choice') ?? {};
  if (tools.length === 0 || choice['type'] === 'none') return {};
  return { tools, ...(choice['disable_parallel_tool_use'] === true ? { oneCall: true } : {}) };
};

const parseCustomTool = (tool: BodyFields): ClientTool => parseTool(tool, 'input_schema');

/** The client's only tool, if the client forces the model to call it; else null. */
const parseForcedTool = (fields: BodyFields): ClientTool | null => {
  const { tools, tool_choice: choice } = fields.value;
  if (!Array.isArray(tools) || tools.length !== 1 || !isObject(choice)) return null;
  if (choice['type'] !== 'any' && choice['type'] !== 'tool') return null;
  const [tool = null] = fields.items('tools').map(parseCustomTool);
  return choice['type'] === 'any' || choice['name'] === tool?.name ? tool : null;
};

const allowedSystemTexts = (system: ParsedDialog['system'], clients: ClientRules): readonly string[] => {
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

// How each field of a Messages request is handled. A field in none of these lists is refused as unknown.
/** Throws `request_invalid` for an unknown field, and `request_unsupported` for a known field that is not supported. */
const checkMessageFields = (fields: BodyFields, { tools }: ClientRules, isForced: boolean): void => {
  fields.allowOnly([...knownFields, ...Object.keys(refusedFields)]);
  for (const [name, reason] of Object.entries(refusedFields))
    if (!isEmpty(fields.value[name])) fields.refuse(name, `${reason} ${operatorHints.compat}`);
  checkThread(fields);
  // The client's only tool stands for a schema.
  if (isForced) return;
  if (!tools && !isEmpty(fields.value['tools'])) fields.refuse('tools', noClientTools);
  checkToolChoice(fields, tools);
};

const noClientTools = `the tools of an agent come from its definition; a request cannot add any. ${operatorHints.tools} To get JSON, send output_config.format.`;

/** Parsed in `parse-message.ts` and `parse-dialog.ts`. */
const parsedFields = [
  'model',
  'messages',
  'system',
  'max_tokens',
  'stream',
  'thinking',
  'output_config',
  'output_format',
] as const;

/**
 * Accepted without effect: settings of a provider's account, cache or capacity, and hints to a model. The agent's definition decides
 * on its models, their settings and what their windows hold.
 */
const ignoredFields = [
  'metadata',
  'cache_control',
  'context_management',
  'diagnostics',
  'inference_geo',
  'service_tier',
  'speed',
  'temperature',
  'top_k',
  'top_p',
] as const;

const knownFields = [...parsedFields, ...ignoredFields, 'thread', 'tools', 'tool_choice'] as const;

/** Refused, because a client that sends one of these relies on an effect that would not occur. An empty array asks for nothing. */
const refusedFields: Readonly<Record<string, string>> = {
  mcp_servers: 'the MCP servers of an agent come from its definition; a request cannot add any.',
  container: 'containers are not supported.',
  stop_sequences: 'stop sequences are not supported.',
  fallbacks: 'the models of an agent come from its definition.',
  fallback_credit_token: 'the models of an agent come from its definition.',
  compaction: 'an agent compacts its own window.',
};

/** With `--compat`: what is refused otherwise, and what nobody here knows. */
const ignorableFields = {
  isField: (name: string, value: Json): boolean =>
    !(knownFields as readonly string[]).includes(name) && !(Object.hasOwn(refusedFields, name) && isEmpty(value)),
  clientToolType: 'custom',
};

/** A request that creates a thread holds the whole dialog; one that continues a thread does not, and is sent again as one that does. */
const checkThread = (fields: BodyFields): void => {
  if (!fields.has('thread') || fields.object('thread')['type'] === 'create') return;
  throw new CloisterError('request_unsupported', noThreads);
};

const isEmpty = (value: Json | undefined): boolean => Array.isArray(value) && value.length === 0;

/** The agent chooses its tools itself, so only `auto` and `none` are accepted. */
const checkToolChoice = (fields: BodyFields, tools: boolean): void => {
  if (!fields.has('tool_choice')) return;
  const choice = fields.fields('tool_choice');
  const type = choice.text('type');
  if (type === 'auto' || type === 'none') return;
  const reason = tools ? 'an agent decides for itself which tools it calls.' : 'client tools are not allowed here.';
  throw new CloisterError('request_unsupported', `${choice.path('type')}: ${reason}`);
};

// Parses the messages of a request into a dialog, tool results and system texts.
type ParsedDialog = {
  /** Consecutive messages of one author are one turn, as in the protocol. Includes results of the client's tools, if those are allowed. */
  readonly turns: readonly (DialogMessage | CallResult | PastCall)[];
  /** The client's system prompts, each with its path in the request. */
  readonly system: readonly { readonly path: string; readonly text: string }[];
};

/** Throws `request_invalid`, or `request_unsupported` for content other than text and files. */
const parseDialog = (request: BodyFields, { tools }: ClientRules): ParsedDialog => {
  const turns: (Turn | CallResult | PastCall)[] = [];
  const system = [request.has('system') ? systemTexts(request, 'system') : []];
  for (const message of request.items('messages')) {
    const role = message.oneOf('role', ['user', 'assistant', 'system']);
    if (role === undefined) throw message.invalid('role', 'user or assistant');
    if (role === 'system') system.push(systemTexts(message, 'content'));
    else if (role === 'assistant') {
      addMessage(turns, parseAssistant(message, tools));
      turns.push(...pastCalls(message));
    } else {
      const results = tools ? toolResults(message) : [];
      for (const result of results) turns.push(result);
      const userMessage = parseUser(message, tools);
      const hasContent = userMessage.text !== '' || (userMessage.attachments ?? []).length > 0;
      if (results.length === 0 || hasContent) addMessage(turns, userMessage);
    }
  }
  const joined = turns.map((turn) => ('by' in turn ? joinTexts(turn) : turn));
  return { turns: joined, system: system.flat() };
};

type Turn = { readonly by: DialogMessage['by']; readonly texts: string[]; readonly attachments: Attachment[] };

type MessageContent = Pick<Turn, 'by'> & { readonly text: string; readonly attachments?: readonly Attachment[] };

const addMessage = (turns: (Turn | CallResult | PastCall)[], { by, text, attachments = [] }: MessageContent): void => {
  const last = turns.at(-1);
  if (last === undefined || !('by' in last) || last.by !== by)
    turns.push({ by, texts: [text], attachments: [...attachments] });
  else {
    last.texts.push(text);
    last.attachments.push(...attachments);
  }
};

const joinTexts = ({ by, texts, attachments }: Turn): DialogMessage => ({
  by,
  text: paragraphs(texts),
  ...(attachments.length === 0 ? {} : { attachments }),
});

/** The calls of its tools that the client repeats with an earlier answer. */
const pastCalls = ({ value: { content } }: BodyFields): readonly PastCall[] =>
  (Array.isArray(content) ? content.filter(isObject) : [])
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => ({
      called: typeof id === 'string' ? id : '',
      name: typeof name === 'string' ? name : '',
      input: input === undefined ? '' : JSON.stringify(input),
    }));

const toolResults = (message: BodyFields): readonly CallResult[] => {
  if (!Array.isArray(message.value['content'])) return [];
  return message
    .items('content')
    .filter((block) => block.value['type'] === 'tool_result')
    .map((block) => ({
      call: block.text('tool_use_id'),
      text: block.has('content') ? paragraphs(resultTexts(block)) : '',
      failed: block.flag('is_error'),
    }));
};

/** Files in a tool result are left out, and a note says so. */
const resultTexts = (block: BodyFields): readonly string[] => [
  ...contentBlocks(block, 'content', ['tool_reference']).map((one) =>
    typeof one === 'string' ? one : omittedFileText(one.mediaType),
  ),
  ...toolReferences(block),
];

/** A client that holds tools back names those that come with this request. */
const toolReferences = (block: BodyFields): readonly string[] =>
  (Array.isArray(block.value['content']) ? block.items('content') : [])
    .filter(({ value }) => value['type'] === 'tool_reference')
    .map((reference) => `The tool ${reference.text('tool_name')} is available now.`);

const systemTexts = (fields: BodyFields, name: string): ParsedDialog['system'] =>
  contentTexts(fields, name, [])
    .filter((text) => text.trim() !== '')
    .map((text) => ({ path: fields.path(name), text }));

const parseUser = (message: BodyFields, tools: boolean): MessageContent => {
  const blocks = contentBlocks(message, 'content', tools ? ['tool_result'] : []);
  return {
    by: 'person',
    text: paragraphs(blocks.filter((block) => typeof block === 'string')),
    attachments: blocks.filter((block) => typeof block !== 'string'),
  };
};

/**
 * The client sends an earlier answer back as it received it. Thinking blocks were meant for the client only, and calls of its tools are
 * the client's to remember, so only the texts are kept, joined without a separator.
 */
const parseAssistant = (message: BodyFields, tools: boolean): MessageContent => ({
  by: 'agent',
  text: contentTexts(message, 'content', ['thinking', 'redacted_thinking', ...(tools ? ['tool_use'] : [])]).join(''),
});

const paragraphs = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');

/** As `contentBlocks`, where only texts may be. */
const contentTexts = (fields: BodyFields, name: string, skippedTypes: readonly string[]): readonly string[] =>
  contentBlocks(fields, name, skippedTypes).map((block) => {
    if (typeof block === 'string') return block;
    throw new CloisterError('request_unsupported', `${fields.path(name)}: only messages of the user can have files.`);
  });

/** The string, or the texts and files of an array of blocks. Blocks of the types in `skippedTypes` are skipped. */
const contentBlocks = (
  fields: BodyFields,
  name: string,
  skippedTypes: readonly string[],
): readonly (string | Attachment)[] => {
  const value = fields.value[name];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) throw fields.invalid(name, 'a string or an array of blocks');
  return fields.items(name).flatMap((block): (string | Attachment)[] => {
    const type = block.text('type');
    if (skippedTypes.includes(type)) return [];
    if (type === 'text') return [block.text('text')];
    if (type === 'image' || type === 'document') return [parseFile(block)];
    const reason = `only text, images and documents are supported, not ${JSON.stringify(type.slice(0, 40))}.`;
    throw new CloisterError('request_unsupported', `${block.path('type')}: ${reason}`);
  });
};
