// Pairs of runs of a team that exchanges messages, in all variants. One member's private content differs between the two; what
// it says to others is the same. Then everything that any other member is shown must be the same, byte for byte.
import type { Agent, AgentOptions } from '#contracts';
import { buildAgent } from '#core/orchestration';
import { checkIsolation } from '#testkit';
import type { Environment, IsolationReport } from '#testkit';

const names = ['w1', 'w2'];
const tools = [
  'spawn_agent',
  'list_spawned_agents',
  'shutdown_agent',
  'send_message',
  'receive_message',
  'subscribe',
  'publish',
  'receive_broadcast',
];

const look = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object' },
  execute: () => 'Nothing.',
} as const;
const plenty = { perMinute: 1_000, children: 1_000, graceMs: 100 };

const define = (name: string, more: Partial<AgentOptions>): Agent =>
  buildAgent(
    {
      name,
      description: `Does what ${name} does.`,
      prompt: `You do what ${name} does.`,
      models: ['house/first', 'house/second'],
      tools: [...tools, look],
      topics: ['t'],
      ...more,
    },
    null,
  );

/** Nobody but its parent and its children can write to it, so having some is private. */
const aide = define('aide', { messages: ['parent', 'children'], spawns: { agents: ['self'], ...plenty } });

/** It may have few agents, and seldom. */
const quiet = define('quiet', {
  messages: ['parent'],
  spawns: { agents: [aide], ...plenty, children: 2, perMinute: 3 },
});

const member = (name: string, agents: readonly Agent[]): Agent =>
  define(name, {
    messages: ['parent', 'children', 'siblings'],
    spawns: { agents: [...agents, quiet, aide, 'self'], ...plenty },
  });

const below = names.toReversed().reduce<readonly Agent[]>((made, name) => [...made, member(name, made)], []);

const subject = member('root', below);

/** Half of the pairs are of agents that exchange messages, the others of calls. */
export const comparePairs = (pairs: number, seed: number): Promise<IsolationReport> =>
  checkIsolation({ agent: subject, environment }, { pairs: 2 * pairs, seed });

/** Agents that are called as tools and have mail too: a team of its own, so that the other one does as much as before. */
export const compareCalled = (pairs: number, seed: number): Promise<IsolationReport> =>
  checkIsolation({ agent: caller, environment }, { pairs: 2 * pairs, seed });

const called = ['called', 'other'].map((name) =>
  define(name, { messages: ['parent', 'children', 'siblings'], spawns: { agents: [aide], ...plenty } }),
);
const caller = define('caller', {
  agents: called,
  messages: ['parent', 'children'],
  spawns: { agents: [quiet, aide], ...plenty },
});

/** Each agent has variables of its own, some of them with values that others can guess. */
const environment: Environment = {
  variablesOf: ({ name }) => [`${name} KEY`, `${name} PASSWORD`, `${name} TOKEN`],
  fill: ({ name }, valueOf) => [valueOf(`${name} KEY`), valueOf(`${name} PASSWORD`), valueOf(`${name} TOKEN`)],
};
