// What all runs of one subject have in common, and how each of them is set up.
import { validate } from '#adapters/schemas';
import type { Validate } from '#contracts';
import { changeAgent, namesakes } from './change-agent.ts';
import { Rng } from './rng.ts';
import { sizeOf, sizes } from './case-size.ts';
import { rootGoal } from './plan.ts';
import type { Plan } from './plan.ts';
import { ObservedRun } from './observed-run.ts';
import type { Subject } from './subject.ts';
import { Team } from './team.ts';
import type { PlayedAgent } from './team.ts';
import { TestEnvironment } from './test-environment.ts';
import type { OtherValues } from './test-environment.ts';
import { WatchedRun } from './watched-run.ts';

/** What differs from the first run: one cell; or all cells at one place of the tree, and then what their agent is too. */
export type Variation = {
  readonly salt: string;
  readonly path: string;
  readonly part: PlayedAgent;
  /** Null: all at that path. */
  readonly place: string | null;
};

export const isVariedAt = (variation: Variation, place: string, path: string): boolean =>
  variation.place === null ? variation.path === path : variation.place === place;

export class IsolationSetup {
  readonly team: Team;
  readonly #subject: Subject;
  readonly #environment: TestEnvironment | null;
  readonly #validate = cachedValidate();
  #onStage: WatchedRun | null = null;
  #group = -1;
  #plans = new Map<string, Plan>();

  constructor(subject: Subject) {
    this.#subject = subject;
    this.team = new Team(subject, { tool: (...called) => this.#onStage!.tool(...called) });
    const { environment } = subject;
    this.#environment = environment === undefined ? null : new TestEnvironment(environment, this.team.parts);
  }

  /** Without a variation: the first run of a group. */
  async play(group: number, variation: Variation | null): Promise<ObservedRun> {
    const seed = `group ${group}`;
    if (this.#group !== group) this.#plans = new Map();
    this.#group = group;
    const chance = new Rng(`${seed} ${variation?.salt ?? ''} world`);
    const other = this.#otherValues(variation);
    const environment = this.#environment;
    const run = new WatchedRun(this.team, {
      seed,
      plans: this.#plans,
      dials: sizes[sizeOf(group)]!,
      validate: this.#validate,
      root: this.#root(variation, chance),
      goal: rootGoal(this.#subject, this.team.root, { seed, validate: this.#validate }),
      budget: this.team.budgetFor(20 + new Rng(seed).below(30)),
      ids: chance.hex(),
      // Prompts may name the day on which the run began.
      startMs: this.team.isDated ? 1_800_000_000_000 : chance.bits() * 500,
      saltOf: (place, path) => (variation !== null && isVariedAt(variation, place, path) ? variation.salt : ''),
      told: (part) => environment?.told(part, other) ?? null,
      secretsOf: (part) => environment?.secretsOf(part, other) ?? [],
      redact: environment?.redact(other) ?? null,
      isReal: this.#subject.realTools === true,
    });
    this.#onStage = run;
    const played = await ObservedRun.of(run);
    this.team.forget();
    return played;
  }

  /** Only what all sessions of the agent are told, and no other agent is. */
  #otherValues(variation: Variation | null): OtherValues | null {
    if (variation === null || variation.place !== null || this.team.placesOf(variation.part) > 1) return null;
    return { part: variation.part, salt: variation.salt };
  }

  #root(variation: Variation | null, chance: Rng): PlayedAgent {
    if (variation === null || variation.place !== null) return this.team.root;
    const names = namesakes(this.team.parts.map(({ agent }) => agent));
    return this.team.changed(variation.path, (options) => changeAgent(options, chance, names));
  }
}

/** Listed tools come with a new copy of their schema in every session: equal ones are prepared once. */
export const cachedValidate = (): Validate => {
  const known = new Map<string, Parameters<Validate>[0]>();
  const seen = new WeakMap<object, Parameters<Validate>[0]>();
  return (schema, value) => {
    let same = seen.get(schema);
    if (same === undefined) {
      const text = JSON.stringify(schema);
      same = known.get(text) ?? schema;
      known.set(text, same);
      seen.set(schema, same);
    }
    return validate(same, value);
  };
};
