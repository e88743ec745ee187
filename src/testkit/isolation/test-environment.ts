// What the providers and servers of each agent are told, with made-up values for every variable.
import { sha256 } from '#base';
import type { Redact } from '#contracts';
import { makeRedact } from '#core/registry';
import type { Environment } from './subject.ts';
import type { PlayedAgent } from './team.ts';

/** Other values for the variables that one agent alone is told. */
export type OtherValues = { readonly part: PlayedAgent; readonly salt: string };

export class TestEnvironment {
  readonly #environment: Environment;
  readonly #slots = new Map<PlayedAgent['own'], readonly string[]>();
  /** By how many agents each variable is named. */
  readonly #namedBy = new Map<string, number>();
  readonly #told = new Map<PlayedAgent['own'], string>();
  #redact: Redact | null | undefined;

  constructor(environment: Environment, parts: readonly PlayedAgent[]) {
    this.#environment = environment;
    for (const { own } of parts) {
      const slots = [...new Set(environment.slotsOf(own))];
      this.#slots.set(own, slots);
      for (const slot of slots) this.#namedBy.set(slot, (this.#namedBy.get(slot) ?? 0) + 1);
    }
  }

  /** Made anew each time that something differs: only that may differ which the agent alone is told. */
  told({ own }: PlayedAgent, other: OtherValues | null): string {
    const known = other === null ? this.#told.get(own) : undefined;
    if (known !== undefined) return known;
    const told = JSON.stringify(this.#environment.fill(own, (slot) => this.#value(slot, other)));
    if (other === null) this.#told.set(own, told);
    return told;
  }

  /** What the cells of an agent could give away. */
  secretsOf({ own }: PlayedAgent, other: OtherValues | null): readonly string[] {
    return (this.#slots.get(own) ?? []).map((slot) => this.#value(slot, other));
  }

  redact(other: OtherValues | null): Redact | null {
    if (other === null && this.#redact !== undefined) return this.#redact;
    const made = makeRedact([...this.#namedBy.keys()].map((slot) => this.#value(slot, other)));
    if (other === null) this.#redact = made;
    return made;
  }

  #value(slot: string, other: OtherValues | null): string {
    const isOwn = other !== null && this.#namedBy.get(slot) === 1 && this.#slots.get(other.part.own)?.includes(slot);
    return `value-${sha256(isOwn === true ? `${slot} ${other.salt}` : slot).slice(0, 20)}`;
  }
}
