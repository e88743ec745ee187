// Another definition for one agent that others cannot tell from the first: its instructions, settings, own tools, even its name.
import type { Agent, AgentOptions, ToolDefinition } from '#contracts';
import type { Rng } from './rng.ts';

export const changeAgent = (options: AgentOptions, chance: Rng, names: ReadonlySet<string>): AgentOptions => {
  const { tools = [], agents = [], limits = {}, settings = {} } = options;
  const unseen = {
    usage: chance.words(),
    settings: {
      ...settings,
      temperature: chance.below(10) / 10,
      ...(chance.percent(50) ? { seed: chance.below(99) } : {}),
    },
    limits: { ...limits, parallelToolCalls: 1 + chance.below(5) },
  };
  // Who is given its system prompt may tell it from another.
  if (agents.some(({ share }) => share.includes('system'))) return { ...options, ...unseen };
  const name = `${options.name.slice(0, 50)}-${chance.hex().slice(0, 4)}`;
  return {
    ...options,
    ...unseen,
    prompt: `${options.prompt}\n${chance.words()}`,
    // Two agents of one name may not call each other: who has a namesake keeps the name.
    ...(chance.percent(50) && !names.has(options.name) ? { name } : {}),
    tools: [...(chance.percent(50) ? tools.toReversed() : tools), ...(chance.percent(50) ? [extraTool(chance)] : [])],
    agents: chance.percent(50) ? agents.toReversed() : agents,
  };
};

const extraTool = (chance: Rng): ToolDefinition => ({
  name: `x${chance.hex()}`,
  description: chance.words(),
  inputSchema: { type: 'object' },
  repeat: 'free',
  execute: () => '',
});

/** Names that more than one agent has. */
export const namesakes = (agents: readonly Agent[]): ReadonlySet<string> => {
  const names = agents.map(({ name }) => name);
  return new Set(names.filter((name, index) => names.indexOf(name) !== index));
};
