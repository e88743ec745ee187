// A team whose models do random things: write, think, call tools and each other, break off, ask people.
import { defineAgent } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal, ScriptedReply } from 'cloister/testkit';
import { seededRng } from '../app/serve/seeded-rng.ts';
import type { SeededRng } from '../app/serve/seeded-rng.ts';

export type RandomTeam = { readonly agents: readonly Agent[]; readonly rng: SeededRng };

const words = ['Well, ', 'so.\n', '  and ', '\n\nthen', ' it is', '.', ' ', 'x'.repeat(50), 'é🙂 '];

export const randomTeam = (seed: number): RandomTeam => {
  const rng = seededRng(seed);
  const model: Rehearsal = rehearse([{ reply: ({ turn, tools }) => randomReply(rng, turn, tools) }]);
  const tool = (name: string, options: Partial<ToolDefinition> = {}): ToolDefinition => ({
    name,
    description: `It is ${name}.`,
    inputSchema: { type: 'object' },
    execute: () => {
      if (rng.chance(0.2)) throw new Error('No luck.');
      return 'r'.repeat(rng.below(200));
    },
    ...options,
  });
  const limits = { maxRetries: 2, maxTurns: 5 };
  const agent = (name: string, agents: readonly Agent[]): Agent =>
    defineAgent({
      name,
      description: `It is ${name}.`,
      prompt: 'Go.',
      models: [model],
      agents,
      tools: [tool('look'), tool('send')],
      approve: { send: {} },
      limits,
    });
  return { agents: [agent('lead', [agent('helper', [agent('digger', [])])])], rng };
};

const randomText = (rng: SeededRng): string => Array.from({ length: 1 + rng.below(6) }, () => rng.of(words)).join('');

const randomReply = (rng: SeededRng, turn: number, tools: readonly string[]): ScriptedReply => {
  const text = rng.chance(0.7) ? { text: randomText(rng) } : {};
  if (rng.chance(0.08))
    return { text: `Half ${randomText(rng)}`, fault: rng.of(['cut', 'network', 'malformed'] as const) };
  const reasoning = rng.chance(0.3) ? { reasoning: randomText(rng) } : {};
  if (turn > 3 || rng.chance(0.3)) return { text: `End ${randomText(rng)}`, ...reasoning };
  const known = tools.filter((name) => ['look', 'send', 'helper', 'digger'].includes(name));
  const calls = Array.from({ length: 1 + rng.below(3) }, () => {
    const name = rng.of(known);
    return {
      tool: name,
      args: name === 'helper' || name === 'digger' ? { prompt: 'go', reason: 'r' } : { n: rng.below(3) },
    };
  });
  return { ...text, ...reasoning, calls };
};
