// Sets up the runs of one subject.
import { validate } from '#adapters/schemas';
import type { Validate } from '#contracts';
import { changeAgent, namesakes } from './change-agent.ts';
import { Rng } from './rng.ts';
import { sizeOfGroup, caseSizes } from './case-size.ts';
import { chooseRootGoal } from './plan.ts';
import type { Plan } from './plan.ts';
import { ObservedRun } from './observed-run.ts';
import type { Subject } from './subject.ts';
import { AgentTree } from './agent-tree.ts';
import type { TestAgent } from './agent-tree.ts';
import { TestEnvironment } from './test-environment.ts';
import type { OtherValues } from './test-environment.ts';
import { WatchedRun } from './watched-run.ts';

/** What differs from the first run: one cell, or all cells at one path of the tree and then their agent's definition as well. */
export type Variation = {
  readonly salt: string;
  readonly path: string;
  readonly testAgent: TestAgent;
  /** Null: all cells at that path. */
  readonly place: string | null;
};

export const isVariedAt = (variation: Variation, place: string, path: string): boolean =>
  variation.place === null ? variation.path === path : variation.place === place;

export class IsolationSetup {
  readonly tree: AgentTree;
  readonly #subject: Subject;
  readonly #environment: TestEnvironment | null;
  readonly #validate = cachedValidate();
  #current: WatchedRun | null = null;
  #group = -1;
  #plans = new Map<string, Plan>();

  constructor(subject: Subject) {
    this.#subject = subject;
    this.tree = new AgentTree(subject, { tool: (...called) => this.#current!.tool(...called) });
    const { environment } = subject;
    this.#environment = environment === undefined ? null : new TestEnvironment(environment, this.tree.all);
  }

  /** Without a variation, this is the first run of a group. */
  async run(group: number, variation: Variation | null): Promise<ObservedRun> {
    const seed = `group ${group}`;
    if (this.#group !== group) this.#plans = new Map();
    this.#group = group;
    const rng = new Rng(`${seed} ${variation?.salt ?? ''} world`);
    const other = this.#otherValues(variation);
    const environment = this.#environment;
    const run = new WatchedRun(this.tree, {
      seed,
      plans: this.#plans,
      size: caseSizes[sizeOfGroup(group)]!,
      validate: this.#validate,
      prepareRoot: this.#prepareRoot(variation, rng),
      goal: chooseRootGoal(this.#subject, this.tree.root, { seed, validate: this.#validate }),
      budget: this.tree.budgetFor(20 + new Rng(seed).below(30)),
      ids: rng.hex(),
      // Prompts may contain the date on which the run started.
      startMs: this.tree.usesDates ? 1_800_000_000_000 : rng.bits() * 500,
      saltOf: (place, path) => (variation !== null && isVariedAt(variation, place, path) ? variation.salt : ''),
      environmentOf: (testAgent) => environment?.render(testAgent, other) ?? null,
      secretsOf: (testAgent) => environment?.secretsOf(testAgent, other) ?? [],
      redactFor: environment?.redactFor(other) ?? (() => null),
      usesRealTools: this.#subject.realTools === true,
      hasListeners: caseSizes[sizeOfGroup(group)]!.hasListeners,
    });
    this.#current = run;
    const observed = await ObservedRun.observe(run);
    this.tree.forgetChanges();
    return observed;
  }

  /** Only for an agent at a single place: values that all its sessions get, and no other agent. */
  #otherValues(variation: Variation | null): OtherValues | null {
    if (variation === null || variation.place !== null || this.tree.countPlaces(variation.testAgent) > 1) return null;
    return { testAgent: variation.testAgent, salt: variation.salt };
  }

  #prepareRoot(variation: Variation | null, rng: Rng): TestAgent {
    if (variation === null || variation.place !== null) return this.tree.root;
    const names = namesakes(this.tree.all.map(({ agent }) => agent));
    return this.tree.withChangeAt(variation.path, (options) => changeAgent(options, rng, names));
  }
}

/** Tool listings bring a new copy of each schema in every session; equal schemas are prepared only once. */
export const cachedValidate = (): Validate => {
  const known = new Map<string, Parameters<Validate>[0]>();
  const seen = new WeakMap<object, Parameters<Validate>[0]>();
  return (schema, value, shared) => {
    let same = seen.get(schema);
    if (same === undefined) {
      const text = JSON.stringify(schema);
      same = known.get(text) ?? schema;
      known.set(text, same);
      seen.set(schema, same);
    }
    return validate(same, value, shared);
  };
};
