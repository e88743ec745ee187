import { CloisterError, unknownAgentError } from '#base';
import type { Agent } from '#contracts';
import { withChildren } from './agents/resources-from-code.ts';

/** By name; else the only one that is not called by another. */
export const rootAmong = (agents: readonly Agent[], name: string | undefined): Agent => {
  const names = agents.map((agent) => agent.name);
  if (name !== undefined) {
    const found = agents.find((agent) => agent.name === name);
    if (found !== undefined) return found;
    throw unknownAgentError(name, names);
  }
  const called = new Set(
    agents.flatMap(({ agents: asked, spawnable, members, coordinator }) => {
      const led = coordinator === null ? [] : [coordinator.plans, coordinator.answers];
      return [...withChildren([...asked, ...spawnable, ...members, ...led])];
    }),
  );
  const tops = agents.filter((agent) => ![...called].some((one) => one.name === agent.name && one.file === agent.file));
  if (tops.length === 1) return tops[0]!;
  throw new CloisterError(
    'agent_unknown',
    `Say which one is asked: ${(tops.length === 0 ? names : tops.map((agent) => agent.name)).join(', ')}.`,
  );
};
