// Prepares agents that exchange messages, with limits that no private work of a session can reach.
import type { Agent, AgentOptions, Limits } from '#contracts';
import { Rng } from './rng.ts';
import type { MailVariation } from './mail-cell-state.ts';
import type { TestAgent, AgentTree } from './agent-tree.ts';

/** Limits that a session's own turns, or time, could otherwise reach. */
const generousLimits: Limits = {
  timeout_ms: 1e9,
  llmTimeout: 1e9,
  toolTimeout: 1e9,
  mailTimeout: 1e9,
  answersPerMinute: 1e6,
  maxHops: 1e6,
  maxToolTurns: 1_000,
  max_steps: 1e5,
  max_output_files: 1e5,
  max_output_size_bytes: 1e9,
};

const contextTokensMin = 16_000;

export const prepareAgents = (team: AgentTree, variation: MailVariation | null): TestAgent =>
  team.rebuild((own, options) => {
    const { contextTokensMax = 0 } = options.limits ?? {};
    const limits = {
      ...options.limits,
      ...generousLimits,
      ...(contextTokensMax > 0 ? { contextTokensMax: Math.max(contextTokensMax, contextTokensMin) } : {}),
    };
    const testOptions = { ...options, limits };
    const isChanged = variation !== null && variation.place === null && variation.agent === own.name;
    return isChanged ? changeOptions(own, testOptions, new Rng(`${variation.salt} ${own.name}`)) : testOptions;
  });

/** Changes instructions and settings, except those that the agent's children share. */
const changeOptions = (own: Agent, options: AgentOptions, rng: Rng): AgentOptions => {
  const { tools = [], settings = {} } = options;
  const prompt = sharesSystem(own)
    ? {}
    : { prompt: `${options.prompt}\n${rng.words()} ${'and '.repeat(rng.below(20))}` };
  const isReversed = rng.percent(50);
  // Agents that it defines inline inherit its settings and tools.
  return describesChildren(own)
    ? { ...options, ...prompt }
    : {
        ...options,
        ...prompt,
        settings: { ...settings, temperature: rng.below(10) / 10 },
        tools: isReversed ? tools.toReversed() : tools,
      };
};

const describesChildren = ({ spawns }: Agent): boolean => spawns !== null && spawns.templates !== null;

const sharesSystem = ({ agents, spawnable, spawns }: Agent): boolean =>
  spawns?.share.includes('system') === true || [...agents, ...spawnable].some(({ share }) => share.includes('system'));
