// Gives one agent another definition that other agents cannot distinguish from the original: instructions, settings, own tools,
// and even the name.
import type { Agent, AgentOptions, ToolDefinition } from '#contracts';
import type { Rng } from './rng.ts';

export const changeAgent = (options: AgentOptions, rng: Rng, names: ReadonlySet<string>): AgentOptions => {
  const { tools = [], agents = [], limits = {}, settings = {} } = options;
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
  const isPromptShared = agents.some(({ share }) => share.includes('system'));
  const name = `${options.name.slice(0, 50)}-${rng.hex().slice(0, 4)}`;
  return {
    ...options,
    ...invisible,
    ...(isPromptShared ? {} : { prompt: `${options.prompt}\n${rng.words()}` }),
    // Two agents with the same name may not call each other, so an agent with a namesake keeps its name.
    ...(rng.percent(50) && !names.has(options.name) ? { name } : {}),
    tools: [...(rng.percent(50) ? tools.toReversed() : tools), ...(rng.percent(50) ? [extraTool(rng)] : [])],
    agents: rng.percent(50) ? agents.toReversed() : agents,
  };
};

const extraTool = (rng: Rng): ToolDefinition => ({
  name: `x${rng.hex()}`,
  description: rng.words(),
  inputSchema: { type: 'object' },
  repeat: 'free',
  execute: () => '',
});

/** Names that more than one agent has. */
export const namesakes = (agents: readonly Agent[]): ReadonlySet<string> => {
  const names = agents.map(({ name }) => name);
  return new Set(names.filter((name, index) => names.indexOf(name) !== index));
};
