// Checks an agent's definition. Errors name the agent, the field and what was expected.
import { CloisterError, nearestName } from '#base';
import { checkShape, object } from '#base/shapes';
import { budgetShape } from '#contracts';
import type { Agent, AgentShortForms, Budget, BuiltinTool } from '#contracts';
import { givenMarks, markedNames } from './approval-marks.ts';
import { checkMailOptions } from './check-mail-options.ts';
import { expandOptions } from './expand-options.ts';
import type { ExpandedOptions } from './expand-options.ts';
import { agentOptionsShape, builtins } from './option-shapes.ts';
import type { RejectField } from './option-shapes.ts';
import { repeatedName, skillToolName } from './skill-tool.ts';

const givenBudget = object({}, { budget: budgetShape });

/** Checks the budget that a caller gives to one run. */
export const checkBudget = (budget: Budget | undefined): void =>
  checkShape(givenBudget, { budget }, (text) => new CloisterError('budget_invalid', text));

/** The options, checked, as they are stored. */
export const readAgentOptions = (options: AgentShortForms): ExpandedOptions => {
  if (typeof options !== 'object' || options === null)
    throw new CloisterError('agent_invalid', 'defineAgent takes an object.');
  const agent = typeof options.name === 'string' ? options.name.slice(0, 80) : '?';
  const say = (text: string): CloisterError =>
    new CloisterError('agent_invalid', `Agent ${JSON.stringify(agent)}, ${text}`);
  const reject: RejectField = (field, expected) => {
    throw say(`${field}: expected ${expected}${expected.endsWith('?') ? '' : '.'}`);
  };
  const expanded = expandOptions(options, reject);
  checkShape(agentOptionsShape, expanded, say);
  // In conversations `person` stands for the user.
  if (options.name === 'person') reject('name', 'another name: "person" is reserved for the user');
  checkTools(expanded, reject);
  const twice = repeatedName(expanded.skills ?? []);
  if (twice !== undefined) reject('skills', `unique names; "${twice}" is used twice`);
  checkMailOptions(expanded, reject);
  checkMarks(expanded, reject);
  const { timeout_ms: timeoutMs, llmTimeout } = expanded.limits ?? {};
  if (timeoutMs !== undefined && llmTimeout !== undefined && llmTimeout > timeoutMs)
    reject('limits.llmTimeout', `at most timeout_ms (${timeoutMs})`);
  return expanded;
};

/** A misspelt name of a built-in tool would be taken for a server. */
const looksBuiltin = /^(?:read|write|list|spawn|shutdown|send|receive)_/u;

const checkTools = ({ tools = [], agents = [], skills = [], gather }: ExpandedOptions, reject: RejectField): void => {
  for (const [index, tool] of tools.entries()) {
    if (typeof tool === 'object' && 'outside' in tool && tool.outside === true)
      reject(`tools[${index}].outside`, 'none: only tools of a request are called by the client');
    if (typeof tool !== 'string' || isBuiltin(tool) || !looksBuiltin.test(tool)) continue;
    if (tool === skillToolName) reject(`tools[${index}]`, 'other tools: `read_skill` comes with `skills`');
    const suggestion = nearestName(tool, builtins);
    if (suggestion !== null)
      reject(`tools[${index}]`, `the name of a tool; got ${JSON.stringify(tool)}; did you mean "${suggestion}"?`);
  }
  if (gather !== undefined && agents.length === 0) reject('gather', 'at least one sub-agent in `agents`');
  const names = [
    'read_output',
    'ask_person',
    ...(skills.length === 0 ? [] : [skillToolName]),
    ...tools.map((tool) => (typeof tool === 'string' ? (isBuiltin(tool) ? tool : `${tool}__`) : nameOf(tool))),
    ...agents.map(({ signature: { modelToolName } }) => modelToolName),
    ...(gather === undefined ? [] : ['gather']),
  ];
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate === undefined) return;
  const holders = agents.filter(({ signature: { modelToolName } }) => modelToolName === duplicate);
  reject('tools', `unique tool names; "${duplicate}" is used twice${holdersText(holders)}`);
};

/** What a mark names must be there. Tools of a server are known only once it is asked. */
const checkMarks = (
  { approve = [], tools = [], agents = [], skills = [], gather, spawns }: ExpandedOptions,
  reject: RejectField,
): void => {
  const names = tools.map((tool) => (typeof tool === 'string' ? tool : tool.name));
  const spawnable = (spawns?.agents ?? []).map((agent) => (typeof agent === 'string' ? agent : agent.name));
  const markable = {
    tools: [...names, ...(skills.length === 0 ? [] : [skillToolName]), ...(gather === undefined ? [] : ['gather'])],
    servers: tools.flatMap((tool) =>
      typeof tool === 'string' ? (isBuiltin(tool) ? [] : [tool]) : 'list' in tool ? [tool.name] : [],
    ),
    agents,
    spawnable,
  };
  const absent = Object.keys(givenMarks(approve)).find((name) => markedNames(name, markable).length === 0);
  if (absent === undefined) return;
  const known = [...new Set([...markable.tools, ...agents.map(({ signature }) => signature.toolName), ...spawnable])];
  const suggestion = nearestName(absent, known);
  reject(
    'approve',
    `its own tools (${known.join(', ') || 'it has none'}); got ${JSON.stringify(absent)}${suggestion === null ? '' : `; did you mean "${suggestion}"?`}`,
  );
};

const isBuiltin = (tool: string): boolean => builtins.includes(tool as BuiltinTool);

const nameOf = (tool: { readonly name: string }): string => ('list' in tool ? `${tool.name}__` : tool.name);

/** Which agents have the name, and how they write it: a dot and an underscore are the same to models. */
const holdersText = (agents: readonly Agent[]): string => {
  const holders = agents.map(({ name, signature: { toolName } }) => `"${toolName}" of agent "${name}"`);
  return holders.length === 0 ? '' : `. Models see it for ${holders.join(' and for ')}`;
};
