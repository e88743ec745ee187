// What each agent's providers and servers get from the environment, with made-up values for all variables.
import { sha256 } from '#base';
import type { Agent, Redact } from '#contracts';
import { Redactors, strongParts } from '#core/registry';
import type { Environment } from './subject.ts';
import type { TestAgent } from './agent-tree.ts';
import { weakValues } from './rng.ts';

/** Other values for the variables that only one agent uses. */
export type OtherValues = { readonly testAgent: TestAgent; readonly salt: string };

/** What the cells of an agent may not record, as `RunPorts.redactFor`. */
export type RedactFor = (agent: Agent | null, testAgent: TestAgent | undefined) => Redact | null;

export class TestEnvironment {
  readonly #environment: Environment;
  readonly #variables = new Map<TestAgent['own'], readonly string[]>();
  /** How many agents use each variable. */
  readonly #namedBy = new Map<string, number>();
  readonly #render = new Map<TestAgent['own'], string>();
  #redactors: Redactors | undefined;

  constructor(environment: Environment, testAgents: readonly TestAgent[]) {
    this.#environment = environment;
    for (const { own } of testAgents) {
      const slots = [...new Set(environment.variablesOf(own))];
      this.#variables.set(own, slots);
      for (const slot of slots) this.#namedBy.set(slot, (this.#namedBy.get(slot) ?? 0) + 1);
    }
  }

  /** The result is cached unless values vary. Only variables that the varied agent alone uses may change. */
  render({ own }: TestAgent, other: OtherValues | null): string {
    const known = other === null ? this.#render.get(own) : undefined;
    if (known !== undefined) return known;
    const rendered = JSON.stringify(this.#environment.fill(own, (slot) => this.#value(slot, other)));
    if (other === null) this.#render.set(own, rendered);
    return rendered;
  }

  /** Values that the cells of an agent could leak. */
  secretsOf({ own }: TestAgent, other: OtherValues | null): readonly string[] {
    return (this.#variables.get(own) ?? []).map((slot) => this.#value(slot, other));
  }

  /** Redacts for the cells of each agent as the runtime does. */
  redactFor(other: OtherValues | null): RedactFor {
    const redactors = this.#redactorsFor(other);
    return (agent, testAgent) =>
      agent === null || testAgent === undefined
        ? redactors.forEveryone
        : redactors.forAgent(agent, [], () => this.secretsOf(testAgent, other));
  }

  #redactorsFor(other: OtherValues | null): Redactors {
    if (other === null && this.#redactors !== undefined) return this.#redactors;
    const made = new Redactors();
    made.add([...this.#namedBy.keys()].flatMap((slot) => strongParts(this.#value(slot, other))));
    if (other === null) this.#redactors = made;
    return made;
  }

  #value(slot: string, other: OtherValues | null): string {
    const isOwn =
      other !== null && this.#namedBy.get(slot) === 1 && this.#variables.get(other.testAgent.own)?.includes(slot);
    const drawn = sha256(isOwn === true ? `${slot} ${other.salt}` : slot);
    // Every other variable has a value that can be guessed.
    return Number.parseInt(sha256(slot).slice(0, 2), 16) % 2 === 0
      ? `value-${drawn.slice(0, 24)}`
      : weakValues[Number.parseInt(drawn.slice(0, 4), 16) % weakValues.length]!;
  }
}
