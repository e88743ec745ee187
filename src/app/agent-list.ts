// The agents that can be run, as currently registered.
import { agentNamed } from '#base';
import type { Agent, WindowLimit } from '#contracts';
import { assertAgent } from '#core/orchestration';
import { withChildren } from '#app/agents';
import type { AgentResources } from '#app/agents';
import { linkedAgents } from './resolve-resources.ts';

export class AgentList {
  readonly #resources: AgentResources;
  #all: readonly Agent[];
  /** All agents by name, children included; the first one wins. Built on first use. */
  #byName: ReadonlyMap<string, Agent> | undefined;
  readonly #groups = new Map<string, number | undefined>();

  constructor(agents: readonly Agent[], resources: AgentResources) {
    this.#all = agents;
    this.#resources = resources;
  }

  get all(): readonly Agent[] {
    return this.#all;
  }

  /** Throws `agent_unknown`. */
  get(name: string): Agent {
    return agentNamed(
      this.#all,
      name,
      'No agents were given, and none with that name is in this folder, in agents/, in `agents` of .ai-agent.json, or in the home folder. Pass a file, or a folder with --agents.',
    );
  }

  /** Searches the children too. */
  findInTree(name: string): Agent | undefined {
    this.#byName ??= new Map([...withChildren(this.#all)].toReversed().map((agent) => [agent.name, agent]));
    return this.#byName.get(name);
  }

  /** Throws `agent_unknown`, unless no agents are loaded at all: a Cloister that only inspects a workspace has none. */
  check(name: string): void {
    if (this.#all.length > 0 && this.findInTree(name) === undefined) this.get(name);
  }

  /** An agent of this list by name, or any agent, with the agents of this list that it names in `spawns`. */
  resolve(agent: string | Agent, what = 'The agent'): Agent {
    if (typeof agent === 'string') return this.get(agent);
    const asserted = assertAgent(agent, what);
    const known = [...this.#all.filter(({ name }) => name !== asserted.name), asserted];
    const linked = linkedAgents([asserted], known)[0]!;
    return this.#resources.withMarks?.(linked) ?? linked;
  }

  register(agent: Agent): void {
    const asserted = this.resolve(agent);
    // Throws if the models and servers that it names were not looked up beforehand.
    for (const one of withChildren([asserted])) this.#resources.modelsOf(one);
    this.#setAgents([...this.#all.filter(({ name }) => name !== asserted.name), asserted]);
  }

  remove(name: string): void {
    const found = this.get(name);
    this.#setAgents(this.#all.filter((agent) => agent !== found));
  }

  /** The smallest window among the agents of its budget group, as far as definitions and config say. */
  groupTokens({ caps: { budgetGroup } }: Agent): number | undefined {
    if (budgetGroup === null) return undefined;
    if (!this.#groups.has(budgetGroup)) this.#groups.set(budgetGroup, this.#smallestWindow(budgetGroup));
    return this.#groups.get(budgetGroup);
  }

  /** Undefined when nothing is known about it. */
  windowLimitFor(agent: Agent): WindowLimit | undefined {
    const given = agent.caps.limits.contextTokensMax ?? 0;
    const model = this.#resources.contextTokens?.(agent);
    const group = this.groupTokens(agent);
    const limits: (WindowLimit | null)[] = [
      given > 0 ? { tokens: given, by: 'given' } : null,
      model === undefined ? null : { tokens: model, by: 'model' },
      group === undefined ? null : { tokens: group, by: 'group' },
    ];
    return limits.filter((limit) => limit !== null).toSorted((one, other) => one.tokens - other.tokens)[0];
  }

  #smallestWindow(group: string): number | undefined {
    const tokens = [...withChildren(this.#all)].flatMap((agent) => {
      if (agent.caps.budgetGroup !== group) return [];
      const given = agent.caps.limits.contextTokensMax ?? 0;
      return [...(given > 0 ? [given] : []), this.#resources.contextTokens?.(agent)].filter((one) => one !== undefined);
    });
    return tokens.length === 0 ? undefined : Math.min(...tokens);
  }

  #setAgents(agents: readonly Agent[]): void {
    this.#all = agents;
    this.#byName = undefined;
    this.#groups.clear();
  }
}
