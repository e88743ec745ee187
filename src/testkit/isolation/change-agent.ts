// Gives one agent another definition that other agents cannot distinguish from the original: instructions, settings, own tools,
// and even the name. And limits that no private work of a cell can reach.
import type { Agent, AgentOptions, Limits, Skill, ToolDefinition } from '#contracts';
import { Rng } from './rng.ts';
import type { TestAgent, AgentTree } from './agent-tree.ts';
import type { MailVariation } from './mail-cell.ts';

export const changeAgent = (options: AgentOptions, rng: Rng, names: ReadonlySet<string>): AgentOptions => {
  const { tools = [], agents = [], skills = [], limits = {}, settings = {} } = options;
  const invisible = {
    usage: rng.words(),
    settings: {
      ...settings,
      temperature: rng.below(10) / 10,
      ...(rng.percent(50) ? { seed: rng.below(99) } : {}),
    },
    limits: { ...limits, parallelToolCalls: 1 + rng.below(5) },
  };
  // An agent that shares the prompt can tell the difference, but only that of the prompt itself.
  const isPromptShared = agents.some(({ permissions: { share } }) => share.includes('system'));
  const name = `${options.name.slice(0, 50)}-${rng.hex().slice(0, 4)}`;
  return {
    ...options,
    ...invisible,
    ...(isPromptShared ? {} : { prompt: `${options.prompt}\n${rng.words()}` }),
    // Two agents with the same name may not call each other, so an agent with a namesake keeps its name.
    ...(rng.percent(50) && !names.has(options.name) ? { name } : {}),
    tools: [...(rng.percent(50) ? tools.toReversed() : tools), ...(rng.percent(50) ? [extraTool(rng)] : [])],
    agents: rng.percent(50) ? agents.toReversed() : agents,
    skills: skills.map((skill) => changeSkill(skill, rng)),
  };
};

const changeSkill = (skill: Skill, rng: Rng): Skill => ({
  ...skill,
  description: `${skill.description.slice(0, 500)} ${rng.words().slice(0, 500)}`,
  instructions: `${skill.instructions}\n${rng.words()}`,
});

const extraTool = (rng: Rng): ToolDefinition => ({
  name: `x${rng.hex()}`,
  description: rng.words(),
  inputSchema: { type: 'object' },
  repeat: 'free',
  execute: () => '',
});

/** For an agent that others can observe at work: its instructions, settings and the order of its tools. */
export const changeInstructions = (options: AgentOptions, rng: Rng): AgentOptions => {
  const { tools = [], skills = [], settings = {}, prompt } = options;
  return {
    ...options,
    prompt: `${prompt}\n${rng.words()} ${'and '.repeat(rng.below(20))}`,
    usage: rng.words(),
    settings: { ...settings, temperature: rng.below(10) / 10 },
    tools: rng.percent(50) ? tools.toReversed() : tools,
    skills: skills.map((skill) => changeSkill(skill, rng)),
  };
};

/** Limits that a cell's own turns, or time, could otherwise reach. */
export const liftLimits = (limits: Limits = {}, contextTokensMin: number): Limits => {
  const { contextTokensMax = 0 } = limits;
  return {
    ...limits,
    timeout_ms: 1e9,
    llmTimeout: 1e9,
    toolTimeout: 1e9,
    mailTimeout: 1e9,
    maxToolTurns: 1_000,
    max_steps: 1e5,
    max_output_files: 1e5,
    max_output_size_bytes: 1e9,
    maxHops: 1e6,
    answersPerMinute: 1e6,
    ...(contextTokensMax > 0 ? { contextTokensMax: Math.max(contextTokensMax, contextTokensMin) } : {}),
  };
};

/** Names that more than one agent has. */
export const namesakes = (agents: readonly Agent[]): ReadonlySet<string> => {
  const names = agents.map(({ name }) => name);
  return new Set(names.filter((name, index) => names.indexOf(name) !== index));
};

// ---- agents that exchange messages

const mailContextTokensMin = 16_000;

export const prepareMailAgents = (team: AgentTree, variation: MailVariation | null): TestAgent =>
  team.rebuild((own, options) => {
    const testOptions = { ...options, limits: liftLimits(options.limits, mailContextTokensMin) };
    const isChanged = variation !== null && variation.place === null && variation.agent === own.name;
    if (!isChanged) return testOptions;
    const changed = changeInstructions(testOptions, new Rng(`${variation.salt} ${own.name}`));
    return {
      ...changed,
      usage: options.usage,
      // Those that its children share stay as they are. Agents that it defines inline inherit its settings and tools.
      ...(sharesSystem(own) ? { prompt: options.prompt } : {}),
      ...(describesChildren(own) ? { settings: options.settings ?? {}, tools: options.tools ?? [] } : {}),
    };
  });

const describesChildren = ({ children: { spawns } }: Agent): boolean => spawns !== null && spawns.templates !== null;

const sharesSystem = ({ children: { agents, spawnable, spawns } }: Agent): boolean =>
  spawns?.share.includes('system') === true ||
  [...agents, ...spawnable].some(({ permissions: { share } }) => share.includes('system'));
