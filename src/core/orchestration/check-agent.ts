// Checks an agent's definition. Errors name the agent, the field and what was expected.
import { CloisterError, isName, isObject, nearestName } from '#base';
import { numberProblem, numberRules } from '#core/registry';
import type { NumberRule } from '#core/registry';
import { builtinSchemas } from '#core/session';
import { checkKeys, expectationText } from './check-keys.ts';
import type { RejectField } from './check-keys.ts';
import { checkMailOptions } from './check-mail-options.ts';
import type {
  Agent,
  AgentOptions,
  Budget,
  BuiltinTool,
  GrantName,
  Limits,
  ShareName,
  ToolDefinition,
} from '#contracts';

const keys = [
  'name',
  'description',
  'usage',
  'prompt',
  'models',
  'tools',
  'agents',
  'gather',
  'toolName',
  'input',
  'output',
  'agentsAtOnce',
  'caching',
  'limits',
  'settings',
  'budget',
  'grants',
  'share',
  'budgetGroup',
  'compaction',
  'spawns',
  'messages',
  'topics',
] as const satisfies readonly (keyof AgentOptions)[];
const limitKeys = [
  'max_steps',
  'max_tokens_per_step',
  'max_output_files',
  'max_output_size_bytes',
  'timeout_ms',
  'maxToolTurns',
  'llmTimeout',
  'toolTimeout',
  'mailTimeout',
  'maxRetries',
  'maxToolCallsPerTurn',
  'parallelToolCalls',
  'maxOutputTokens',
  'contextTokensMax',
  'maxHops',
  'answersPerMinute',
] as const satisfies readonly (keyof Limits)[];
const budgetKeys = ['tokens', 'usd', 'spawns', 'memory', 'ms'];
const settingKeys = ['temperature', 'topP', 'seed', 'reasoning'];
const builtins = Object.keys(builtinSchemas).filter((name) => name !== 'read_output') as readonly BuiltinTool[];
const grants: readonly GrantName[] = ['goal', 'result', 'note', 'history'];
const shareNames: readonly ShareName[] = ['system', 'context'];
const toolNameShape = /^[A-Za-z0-9_-]{1,64}$/u;
const modelShape = /^[A-Za-z0-9_.-]{1,64}\/\S{1,200}$/u;
const serverShape = /^[A-Za-z0-9_-]{1,64}(?:\/[^\s/]{1,128})?$/u;

/** Checks the budget that a caller gives to one run. */
export const checkBudget = (budget: Budget | undefined): void => {
  const reject = (field: string, expected: string): never => {
    throw new CloisterError('budget_invalid', expectationText(field, expected));
  };
  if (budget !== undefined && (typeof budget !== 'object' || budget === null || Array.isArray(budget)))
    reject('budget', 'an object');
  checkNumbers(budget, budgetKeys, 'budget', reject);
};

const optionKeys = [
  'agents',
  'workspace',
  'store',
  'models',
  'concurrency',
  'config',
  'cwd',
  'env',
  'preconnect',
  'offline',
  'clock',
  'ids',
  'stallClock',
  'defaultAgent',
  'retention',
  'autosaveMs',
  'parallel',
];

/** Checks the options of `openCloister`. */
export const checkCloisterOptions = (options: {
  models?: readonly unknown[];
  concurrency?: object;
  agents?: unknown;
}): void => {
  const reject = (field: string, expected: string): never => {
    throw new CloisterError('options_invalid', expectationText(field, expected));
  };
  if (typeof options !== 'object' || options === null) reject('openCloister', 'an object of options');
  const { models = [], concurrency = {} } = options;
  checkKeys(options, optionKeys, '', reject);
  if (!Array.isArray(options.agents)) reject('agents', 'a list of agents');
  checkModels(models, reject);
  checkKeys(concurrency, ['models', 'tools'], 'concurrency.', reject);
  for (const [key, slots] of Object.entries(concurrency))
    if (slots !== undefined && !(Number.isInteger(slots) && (slots as number) >= 1))
      reject(`concurrency.${key}`, 'a whole number, 1 or more');
};

export const checkAgentOptions = (options: AgentOptions): void => {
  if (typeof options !== 'object' || options === null)
    throw new CloisterError('agent_invalid', 'defineAgent takes an object.');
  const agent = typeof options.name === 'string' ? options.name.slice(0, 80) : '?';
  const reject = (field: string, expected: string): never => {
    throw new CloisterError('agent_invalid', expectationText(`Agent ${JSON.stringify(agent)}, ${field}`, expected));
  };
  checkKeys(options, keys, '', reject);
  if (typeof options.name !== 'string' || !isName(options.name))
    reject('name', 'letters, digits, dot, dash and underscore, at most 64 characters');
  // In conversations `person` stands for the user.
  if (options.name === 'person') reject('name', 'another name: "person" is reserved for the user');
  if (typeof options.description !== 'string' || options.description.trim() === '')
    reject('description', 'a sentence that says what the agent does');
  if (typeof options.prompt !== 'string') reject('prompt', 'text');
  const toolName: unknown = options.toolName ?? options.name;
  if (typeof toolName !== 'string' || !isName(toolName))
    reject('toolName', 'letters, digits, dot, dash and underscore, at most 64 characters');
  if (options.usage !== undefined && typeof options.usage !== 'string') reject('usage', 'text');
  for (const key of ['models', 'tools', 'agents', 'grants', 'share'] as const)
    if (options[key] !== undefined && !Array.isArray(options[key])) reject(key, 'a list');
  checkModels(options.models ?? [], reject);
  if (options.compaction !== undefined) checkModels([options.compaction], reject);
  checkTools(options, reject);
  checkMailOptions(options, reject);
  checkNumbers(options.limits, limitKeys, 'limits', reject);
  checkNumbers(options.budget, budgetKeys, 'budget', reject);
  checkSettings(options.settings ?? {}, reject);
  for (const grant of options.grants ?? [])
    if (!grants.includes(grant)) reject('grants', `one of ${grants.join(', ')}; got ${JSON.stringify(grant)}`);
  for (const name of options.share ?? [])
    if (!shareNames.includes(name)) reject('share', `one of ${shareNames.join(', ')}; got ${JSON.stringify(name)}`);
  const { budgetGroup } = options;
  if (budgetGroup !== undefined && (typeof budgetGroup !== 'string' || !isName(budgetGroup)))
    reject('budgetGroup', 'letters, digits, dot, dash and underscore, at most 64 characters');
  checkFormats(options, reject);
  for (const key of ['parallelToolCalls', 'maxOutputTokens', 'contextTokensMax'] as const)
    if (options.limits?.[key] === 0) reject(`limits.${key}`, 'at least 1');
  const { timeout_ms: timeoutMs, llmTimeout } = options.limits ?? {};
  if (timeoutMs !== undefined && llmTimeout !== undefined && llmTimeout > timeoutMs)
    reject('limits.llmTimeout', `at most timeout_ms (${timeoutMs})`);
};

const checkFormats = ({ input, output, agentsAtOnce, caching }: AgentOptions, reject: RejectField): void => {
  if (!['text', 'markdown', 'json'].includes((output ?? { format: 'text' }).format))
    reject('output.format', 'text, markdown or json');
  if (!['text', 'json'].includes((input ?? { format: 'text' }).format)) reject('input.format', 'text or json');
  for (const [key, form] of Object.entries({ input, output }))
    if (form?.schema !== undefined && (form.format !== 'json' || !isObject(form.schema)))
      reject(`${key}.schema`, 'a JSON Schema, with the format json');
  const type = input?.schema?.['type'];
  if (type !== undefined && type !== 'object') reject('input.schema', 'a schema of type object');
  if (agentsAtOnce !== undefined && !(Number.isInteger(agentsAtOnce) && agentsAtOnce >= 1))
    reject('agentsAtOnce', 'a whole number, 1 or more');
  if (caching !== undefined && caching !== 'full' && caching !== 'none') reject('caching', 'full or none');
};

const checkModels = (models: readonly unknown[], reject: RejectField): void => {
  for (const model of models as NonNullable<AgentOptions['models']>) {
    if (typeof model === 'string') {
      if (!modelShape.test(model)) reject('models', `<provider>/<model>; got ${JSON.stringify(model.slice(0, 80))}`);
      continue;
    }
    const language = typeof model === 'object' && model !== null && 'language' in model ? model.language : model;
    if (typeof (language as { doStream?: unknown } | null)?.doStream !== 'function')
      reject('models', 'AI SDK language models (objects with doStream)');
    const price = 'language' in model ? model.price : undefined;
    if (
      price !== undefined &&
      ![price.input, price.output, price.cacheRead ?? 0, price.cacheWrite ?? 0].every(isAmount)
    )
      reject('models.price', 'dollars per million tokens: input, output, and optionally cacheRead and cacheWrite');
  }
};

const checkTools = ({ tools, agents, gather }: AgentOptions, reject: RejectField): void => {
  const names: string[] = ['read_output'];
  for (const tool of tools ?? []) {
    if (typeof tool === 'string') {
      const isKnown = builtins.includes(tool as BuiltinTool);
      const suggestion =
        isKnown || !/^(?:read|write|list|spawn|shutdown|send|receive)_/u.test(tool)
          ? null
          : nearestName(tool, builtins);
      if (!serverShape.test(tool) || suggestion !== null)
        reject(
          'tools',
          `a tool object, one of ${builtins.join(', ')}, or <server>/<tool>; got ${JSON.stringify(tool.slice(0, 80))}${suggestion === null ? '' : `; did you mean "${suggestion}"?`}`,
        );
      names.push(isKnown ? tool : `${tool}__`);
      continue;
    }
    if (typeof tool === 'object' && tool !== null && 'list' in tool) {
      if (typeof tool.list !== 'function') reject('tools', 'a tool source with a `list` function');
      if (typeof tool.name !== 'string' || !toolNameShape.test(tool.name))
        reject('tools', 'a name of letters, digits, dash and underscore, at most 64 characters');
      names.push(`${tool.name}__`);
      continue;
    }
    checkTool(tool, reject);
    names.push(tool.name);
  }
  for (const agent of agents ?? []) {
    if (typeof agent?.digest !== 'string') reject('agents', 'agents created with defineAgent');
    names.push(agent.modelToolName);
  }
  if (gather !== undefined) {
    if ((agents ?? []).length === 0) reject('gather', 'at least one sub-agent in `agents`');
    if (!isAmount(gather.timeoutMs) || gather.timeoutMs === Infinity) reject('gather.timeoutMs', 'milliseconds');
    names.push('gather');
  }
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate === undefined) return;
  const holders = (agents ?? []).filter(({ modelToolName }) => modelToolName === duplicate);
  reject('tools', `unique tool names; "${duplicate}" is used twice${holdersText(holders)}`);
};

/** Which agents have the name, and how they write it: a dot and an underscore are the same to models. */
const holdersText = (agents: readonly Agent[]): string => {
  const holders = agents.map(({ name, toolName }) => `"${toolName}" of agent "${name}"`);
  return holders.length === 0 ? '' : `. Models see it for ${holders.join(' and for ')}`;
};

/** Checks a tool that is given as an object. */
export const checkTool = (tool: ToolDefinition, reject: RejectField): void => {
  if (typeof tool?.name !== 'string' || !toolNameShape.test(tool.name))
    reject('tools', 'a name of letters, digits, dash and underscore, at most 64 characters');
  if (typeof tool.execute !== 'function') reject(`tools.${tool.name}.execute`, 'a function');
  if (typeof tool.description !== 'string') reject(`tools.${tool.name}.description`, 'text');
  if (typeof tool.inputSchema !== 'object' || tool.inputSchema === null)
    reject(`tools.${tool.name}.inputSchema`, 'a JSON Schema for an object');
  if (tool.repeat !== undefined && !['free', 'keyed', 'never'].includes(tool.repeat))
    reject(`tools.${tool.name}.repeat`, 'free, keyed or never');
};

const reasoningLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const checkSettings = (settings: NonNullable<AgentOptions['settings']>, reject: RejectField): void => {
  checkKeys(settings, settingKeys, 'settings.', reject);
  for (const key of ['temperature', 'topP', 'seed'] as const)
    if (settings[key] !== undefined && !Number.isFinite(settings[key])) reject(`settings.${key}`, 'a number');
  if (settings.reasoning !== undefined && !reasoningLevels.includes(settings.reasoning))
    reject('settings.reasoning', `one of ${reasoningLevels.join(', ')}`);
};

/** Applies the rules of agent files. In code, Infinity is also allowed and means no cap. */
export const checkNumbers = (
  values: object | undefined,
  known: readonly string[],
  field: string,
  reject: RejectField,
): void => {
  checkKeys(values ?? {}, known, `${field}.`, reject);
  for (const [key, value] of Object.entries(values ?? {})) {
    const name = `${field}.${key}`;
    const expected =
      value === undefined || value === Infinity ? null : numberProblem(value, numberRules.get(name) ?? amountRule);
    if (expected !== null) reject(name, `${expected}; got ${JSON.stringify(value)}`);
  }
};

const amountRule: NumberRule = { min: 0, whole: false };

const isAmount = (value: unknown): boolean => typeof value === 'number' && value >= 0 && !Number.isNaN(value);
