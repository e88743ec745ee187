// Prepares agents that exchange messages, with limits that no private work of a session can reach.
import type { Agent } from '#contracts';
import { changeInstructions, liftLimits } from './change-agent.ts';
import { Rng } from './rng.ts';
import type { MailVariation } from './mail-cell-state.ts';
import type { TestAgent, AgentTree } from './agent-tree.ts';

const contextTokensMin = 16_000;

export const prepareAgents = (team: AgentTree, variation: MailVariation | null): TestAgent =>
  team.rebuild((own, options) => {
    const testOptions = { ...options, limits: liftLimits(options.limits, contextTokensMin) };
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

const describesChildren = ({ spawns }: Agent): boolean => spawns !== null && spawns.templates !== null;

const sharesSystem = ({ agents, spawnable, spawns }: Agent): boolean =>
  spawns?.share.includes('system') === true || [...agents, ...spawnable].some(({ share }) => share.includes('system'));
