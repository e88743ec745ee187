// The agents of a talking team as they are played, with room for everything that one of them may do for itself.
import type { Agent, AgentOptions, Limits } from '#contracts';
import { Rng } from './rng.ts';
import type { TalkVariation } from './mail-cell-state.ts';
import type { PlayedAgent, Team } from './team.ts';

/** What only the number of a member's own turns, or time, could reach is out of reach. */
const roomy: Limits = {
  timeout_ms: 1e9,
  llmTimeout: 1e9,
  toolTimeout: 1e9,
  maxToolTurns: 1_000,
  max_steps: 1e5,
  max_output_files: 1e5,
  max_output_size_bytes: 1e9,
};

const contextTokensMin = 16_000;

export const castFor = (team: Team, variation: TalkVariation | null): PlayedAgent =>
  team.recast((own, options) => {
    const { contextTokensMax = 0 } = options.limits ?? {};
    const limits = {
      ...options.limits,
      ...roomy,
      ...(contextTokensMax > 0 ? { contextTokensMax: Math.max(contextTokensMax, contextTokensMin) } : {}),
    };
    const played = { ...options, limits };
    const isChanged = variation !== null && variation.place === null && variation.agent === own.name;
    return isChanged ? changed(own, played, new Rng(`${variation.salt} ${own.name}`)) : played;
  });

/** Told something else, and set up in another way: as far as those that it begins have nothing of it. */
const changed = (own: Agent, options: AgentOptions, chance: Rng): AgentOptions => {
  const { tools = [], settings = {} } = options;
  // What it is told tells its tools too, in their order.
  const told = sharesSystem(own)
    ? {}
    : { prompt: `${options.prompt}\n${chance.words()} ${'and '.repeat(chance.below(20))}` };
  const isReversed = !sharesSystem(own) && chance.percent(50);
  // Those that it describes itself have its settings and its tools.
  return describes(own)
    ? { ...options, ...told }
    : {
        ...options,
        ...told,
        settings: { ...settings, temperature: chance.below(10) / 10 },
        tools: isReversed ? tools.toReversed() : tools,
      };
};

const describes = ({ spawns }: Agent): boolean => spawns !== null && spawns.templates !== null;

const sharesSystem = ({ agents, spawnable, spawns }: Agent): boolean =>
  spawns?.share.includes('system') === true || [...agents, ...spawnable].some(({ share }) => share.includes('system'));
