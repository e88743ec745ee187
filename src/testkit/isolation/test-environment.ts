// What each agent's providers and servers get from the environment, with made-up values for all variables.
import { sha256 } from '#base';
import type { Redact } from '#contracts';
import { makeRedact } from '#core/registry';
import type { Environment } from './subject.ts';
import type { TestAgent } from './agent-tree.ts';

/** Other values for the variables that only one agent uses. */
export type OtherValues = { readonly testAgent: TestAgent; readonly salt: string };

export class TestEnvironment {
  readonly #environment: Environment;
  readonly #variables = new Map<TestAgent['own'], readonly string[]>();
  /** How many agents use each variable. */
  readonly #namedBy = new Map<string, number>();
  readonly #render = new Map<TestAgent['own'], string>();
  #redact: Redact | null | undefined;

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

  redact(other: OtherValues | null): Redact | null {
    if (other === null && this.#redact !== undefined) return this.#redact;
    const made = makeRedact([...this.#namedBy.keys()].map((slot) => this.#value(slot, other)));
    if (other === null) this.#redact = made;
    return made;
  }

  #value(slot: string, other: OtherValues | null): string {
    const isOwn =
      other !== null && this.#namedBy.get(slot) === 1 && this.#variables.get(other.testAgent.own)?.includes(slot);
    return `value-${sha256(isOwn === true ? `${slot} ${other.salt}` : slot).slice(0, 20)}`;
  }
}
