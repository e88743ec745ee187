// The agents that can be asked, as they are registered now.
import { unknownAgentError } from '#base';
import type { Agent, WindowLimit } from '#contracts';
import { assertAgent } from '#core/orchestration';
import { withChildren } from './agents/resources-from-code.ts';
import type { AgentResources } from './agents/agent-resources.ts';

export class AgentList {
  readonly #equipped: AgentResources;
  #all: readonly Agent[];
  /** Those below too, by name; the first of a name. Made when first asked for. */
  #byName: ReadonlyMap<string, Agent> | undefined;
  readonly #groups = new Map<string, number | undefined>();

  constructor(agents: readonly Agent[], equipped: AgentResources) {
    this.#all = agents;
    this.#equipped = equipped;
  }

  get all(): readonly Agent[] {
    return this.#all;
  }

  /** Throws `agent_unknown`. */
  get(name: string): Agent {
    const found = this.#all.find((agent) => agent.name === name);
    if (found !== undefined) return found;
    throw unknownAgentError(
      name,
      this.#all.map((agent) => agent.name),
      'No agents were given, and none is here, in `agents` of .ai-agent.json, or in the home folder. Name a file, or a folder with --agents.',
    );
  }

  /** Those below too. */
  any(name: string): Agent | undefined {
    this.#byName ??= new Map([...withChildren(this.#all)].toReversed().map((agent) => [agent.name, agent]));
    return this.#byName.get(name);
  }

  /** Throws `agent_unknown`, unless there are none at all: who only looks at a workspace has none. */
  check(name: string): void {
    if (this.#all.length > 0 && this.any(name) === undefined) this.get(name);
  }

  register(agent: Agent): void {
    const asserted = assertAgent(agent, 'The agent');
    // What it names of the config must have been looked up.
    for (const one of withChildren([asserted])) this.#equipped.equip(one);
    this.#change([...this.#all.filter(({ name }) => name !== asserted.name), asserted]);
  }

  remove(name: string): void {
    const found = this.get(name);
    this.#change(this.#all.filter((agent) => agent !== found));
  }

  /** The smallest window among the agents of its budget group, as far as definitions and config tell. */
  groupTokens({ budgetGroup }: Agent): number | undefined {
    if (budgetGroup === null) return undefined;
    if (!this.#groups.has(budgetGroup)) this.#groups.set(budgetGroup, this.#smallestOf(budgetGroup));
    return this.#groups.get(budgetGroup);
  }

  /** Undefined when nothing is known of it. */
  windowOf(agent: Agent): WindowLimit | undefined {
    const given = agent.limits.contextTokensMax ?? 0;
    const model = this.#equipped.contextTokens?.(agent);
    const group = this.groupTokens(agent);
    const limits: (WindowLimit | null)[] = [
      given > 0 ? { tokens: given, by: 'given' } : null,
      model === undefined ? null : { tokens: model, by: 'model' },
      group === undefined ? null : { tokens: group, by: 'group' },
    ];
    return limits.filter((limit) => limit !== null).toSorted((one, other) => one.tokens - other.tokens)[0];
  }

  #smallestOf(group: string): number | undefined {
    const tokens = [...withChildren(this.#all)].flatMap((agent) => {
      if (agent.budgetGroup !== group) return [];
      const given = agent.limits.contextTokensMax ?? 0;
      return [...(given > 0 ? [given] : []), this.#equipped.contextTokens?.(agent)].filter((one) => one !== undefined);
    });
    return tokens.length === 0 ? undefined : Math.min(...tokens);
  }

  #change(agents: readonly Agent[]): void {
    this.#all = agents;
    this.#byName = undefined;
    this.#groups.clear();
  }
}
