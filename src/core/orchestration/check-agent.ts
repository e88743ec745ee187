// Says what is wrong with an agent's definition: which agent, which field, what was expected.
import { CloisterError, isName, isObject, nearestName } from '#base';
import { numberProblem, numberRules } from '#core/registry';
import type { NumberRule } from '#core/registry';
import { builtinSchemas } from '#core/session';
import { checkKeys } from './check-keys.ts';
import type { RejectField } from './check-keys.ts';
import { checkMailOptions } from './check-mail-options.ts';
import type { AgentOptions, Budget, BuiltinTool, GrantName, Limits, ShareName, ToolDefinition } from '#contracts';

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

/** The caller's budget of one run. */
export const checkBudget = (budget: Budget | undefined): void => {
  const wrong = (field: string, expected: string): never => {
    throw new CloisterError('budget_invalid', `${field}: expected ${expected}.`);
  };
  if (budget !== undefined && (typeof budget !== 'object' || budget === null || Array.isArray(budget)))
    wrong('budget', 'an object');
  checkNumbers(budget, budgetKeys, 'budget', wrong);
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
  'defaultAgent',
  'retention',
  'autosaveMs',
  'parallel',
];

/** What a caller hands to all agents. */
export const checkSharedLimits = (options: {
  models?: readonly unknown[];
  concurrency?: object;
  agents?: unknown;
}): void => {
  const wrong = (field: string, expected: string): never => {
    throw new CloisterError('options_invalid', `${field}: expected ${expected}.`);
  };
  if (typeof options !== 'object' || options === null) wrong('openCloister', 'an object of options');
  const { models = [], concurrency = {} } = options;
  checkKeys(options, optionKeys, '', wrong);
  if (!Array.isArray(options.agents)) wrong('agents', 'a list of agents');
  checkModels(models, wrong);
  checkKeys(concurrency, ['models', 'tools'], 'concurrency.', wrong);
  for (const [key, slots] of Object.entries(concurrency))
    if (slots !== undefined && !(Number.isInteger(slots) && (slots as number) >= 1))
      wrong(`concurrency.${key}`, 'a whole number, 1 or more');
};

export const checkAgentOptions = (options: AgentOptions): void => {
  if (typeof options !== 'object' || options === null)
    throw new CloisterError('agent_invalid', 'defineAgent takes an object.');
  const agent = typeof options.name === 'string' ? options.name.slice(0, 80) : '?';
  const wrong = (field: string, expected: string): never => {
    throw new CloisterError('agent_invalid', `Agent ${JSON.stringify(agent)}, ${field}: expected ${expected}.`);
  };
  checkKeys(options, keys, '', wrong);
  if (typeof options.name !== 'string' || !isName(options.name))
    wrong('name', 'letters, digits, dot, dash and underscore, at most 64 characters');
  // In conversations it stands for whoever talks to agents.
  if (options.name === 'person') wrong('name', 'another name: "person" is the one who asks');
  if (typeof options.description !== 'string' || options.description.trim() === '')
    wrong('description', 'a sentence that says what it does');
  if (typeof options.prompt !== 'string') wrong('prompt', 'text');
  const toolName: unknown = options.toolName ?? options.name;
  if (typeof toolName !== 'string' || !isName(toolName))
    wrong('toolName', 'letters, digits, dot, dash and underscore, at most 64 characters');
  if (options.usage !== undefined && typeof options.usage !== 'string') wrong('usage', 'text');
  for (const key of ['models', 'tools', 'agents', 'grants', 'share'] as const)
    if (options[key] !== undefined && !Array.isArray(options[key])) wrong(key, 'a list');
  checkModels(options.models ?? [], wrong);
  if (options.compaction !== undefined) checkModels([options.compaction], wrong);
  checkTools(options, wrong);
  checkMailOptions(options, wrong);
  checkNumbers(options.limits, limitKeys, 'limits', wrong);
  checkNumbers(options.budget, budgetKeys, 'budget', wrong);
  checkSettings(options.settings ?? {}, wrong);
  for (const grant of options.grants ?? [])
    if (!grants.includes(grant)) wrong('grants', `some of ${grants.join(', ')}; got ${JSON.stringify(grant)}`);
  for (const name of options.share ?? [])
    if (!shareNames.includes(name)) wrong('share', `some of ${shareNames.join(', ')}; got ${JSON.stringify(name)}`);
  const { budgetGroup } = options;
  if (budgetGroup !== undefined && (typeof budgetGroup !== 'string' || !isName(budgetGroup)))
    wrong('budgetGroup', 'letters, digits, dot, dash and underscore, at most 64 characters');
  checkForms(options, wrong);
  for (const key of ['parallelToolCalls', 'maxOutputTokens', 'contextTokensMax'] as const)
    if (options.limits?.[key] === 0) wrong(`limits.${key}`, 'at least 1');
  const { timeout_ms: timeoutMs, llmTimeout } = options.limits ?? {};
  if (timeoutMs !== undefined && llmTimeout !== undefined && llmTimeout > timeoutMs)
    wrong('limits.llmTimeout', `at most timeout_ms (${timeoutMs})`);
};

const checkForms = ({ input, output, agentsAtOnce, caching }: AgentOptions, wrong: RejectField): void => {
  if (!['text', 'markdown', 'json'].includes((output ?? { format: 'text' }).format))
    wrong('output.format', 'text, markdown or json');
  if (!['text', 'json'].includes((input ?? { format: 'text' }).format)) wrong('input.format', 'text or json');
  for (const [key, form] of Object.entries({ input, output }))
    if (form?.schema !== undefined && (form.format !== 'json' || !isObject(form.schema)))
      wrong(`${key}.schema`, 'a JSON Schema, and the format json');
  const type = input?.schema?.['type'];
  if (type !== undefined && type !== 'object') wrong('input.schema', 'the schema of an object');
  if (agentsAtOnce !== undefined && !(Number.isInteger(agentsAtOnce) && agentsAtOnce >= 1))
    wrong('agentsAtOnce', 'a whole number, 1 or more');
  if (caching !== undefined && caching !== 'full' && caching !== 'none') wrong('caching', 'full or none');
};

const checkModels = (models: readonly unknown[], wrong: RejectField): void => {
  for (const model of models as NonNullable<AgentOptions['models']>) {
    if (typeof model === 'string') {
      if (!modelShape.test(model)) wrong('models', `<provider>/<model>; got ${JSON.stringify(model.slice(0, 80))}`);
      continue;
    }
    const language = typeof model === 'object' && model !== null && 'language' in model ? model.language : model;
    if (typeof (language as { doStream?: unknown } | null)?.doStream !== 'function')
      wrong('models', 'AI SDK language models (objects with doStream)');
    const price = 'language' in model ? model.price : undefined;
    if (
      price !== undefined &&
      ![price.input, price.output, price.cacheRead ?? 0, price.cacheWrite ?? 0].every(isAmount)
    )
      wrong('models.price', 'dollars per million tokens: input, output, and if need be cacheRead and cacheWrite');
  }
};

const checkTools = ({ tools, agents, gather }: AgentOptions, wrong: RejectField): void => {
  const names: string[] = ['read_output'];
  for (const tool of tools ?? []) {
    if (typeof tool === 'string') {
      const isKnown = builtins.includes(tool as BuiltinTool);
      const meant =
        isKnown || !/^(?:read|write|list|spawn|shutdown|send|receive)_/u.test(tool)
          ? null
          : nearestName(tool, builtins);
      if (!serverShape.test(tool) || meant !== null)
        wrong(
          'tools',
          `a tool object, one of ${builtins.join(', ')}, or <server>/<tool>; got ${JSON.stringify(tool.slice(0, 80))}${meant === null ? '' : `; did you mean "${meant}"?`}`,
        );
      names.push(isKnown ? tool : `${tool}__`);
      continue;
    }
    if (typeof tool === 'object' && tool !== null && 'list' in tool) {
      if (typeof tool.list !== 'function') wrong('tools', 'a source with a function `list`');
      if (typeof tool.name !== 'string' || !toolNameShape.test(tool.name))
        wrong('tools', 'names of letters, digits, dash and underscore, at most 64 characters');
      names.push(`${tool.name}__`);
      continue;
    }
    checkTool(tool, wrong);
    names.push(tool.name);
  }
  for (const agent of agents ?? []) {
    if (typeof agent?.digest !== 'string') wrong('agents', 'agents made by defineAgent');
    names.push(agent.toolName);
  }
  if (gather !== undefined) {
    if ((agents ?? []).length === 0) wrong('gather', 'at least one sub-agent in `agents`');
    if (!isAmount(gather.timeoutMs) || gather.timeoutMs === Infinity) wrong('gather.timeoutMs', 'milliseconds');
    names.push('gather');
  }
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) wrong('tools', `one tool per name; "${twice}" is there twice`);
};

/** One that is an object. */
export const checkTool = (tool: ToolDefinition, wrong: RejectField): void => {
  if (typeof tool?.name !== 'string' || !toolNameShape.test(tool.name))
    wrong('tools', 'names of letters, digits, dash and underscore, at most 64 characters');
  if (typeof tool.execute !== 'function') wrong(`tools.${tool.name}.execute`, 'a function');
  if (typeof tool.description !== 'string') wrong(`tools.${tool.name}.description`, 'text');
  if (typeof tool.inputSchema !== 'object' || tool.inputSchema === null)
    wrong(`tools.${tool.name}.inputSchema`, 'a JSON Schema of an object');
  if (tool.repeat !== undefined && !['free', 'keyed', 'never'].includes(tool.repeat))
    wrong(`tools.${tool.name}.repeat`, 'free, keyed or never');
};

const reasoningLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

const checkSettings = (settings: NonNullable<AgentOptions['settings']>, wrong: RejectField): void => {
  checkKeys(settings, settingKeys, 'settings.', wrong);
  for (const key of ['temperature', 'topP', 'seed'] as const)
    if (settings[key] !== undefined && !Number.isFinite(settings[key])) wrong(`settings.${key}`, 'a number');
  if (settings.reasoning !== undefined && !reasoningLevels.includes(settings.reasoning))
    wrong('settings.reasoning', `one of ${reasoningLevels.join(', ')}`);
};

/** By the rules that agent files have; in code, Infinity says that there is no cap. */
export const checkNumbers = (
  values: object | undefined,
  known: readonly string[],
  field: string,
  wrong: RejectField,
): void => {
  checkKeys(values ?? {}, known, `${field}.`, wrong);
  for (const [key, value] of Object.entries(values ?? {})) {
    const name = `${field}.${key}`;
    const expected =
      value === undefined || value === Infinity ? null : numberProblem(value, numberRules.get(name) ?? amount);
    if (expected !== null) wrong(name, `${expected}; got ${JSON.stringify(value)}`);
  }
};

const amount: NumberRule = { min: 0, whole: false };

const isAmount = (value: unknown): boolean => typeof value === 'number' && value >= 0 && !Number.isNaN(value);
