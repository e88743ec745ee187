// Compares the pairs of one kind until one differs, and counts what was compared.
import type { CellId } from '#base';
import { validate } from '#adapters/schemas';
import type { Frame, Validate, VerifyDifference } from '#contracts';
import type { StandInHandler, TestAgent } from './agent-tree.ts';
import type { ObservationComparison } from './observer.ts';
import type { Subject } from './subject.ts';
import { TestEnvironment } from './test-environment.ts';
import type { OtherValues } from './test-environment.ts';
import type { TestRunWorld } from './test-run.ts';

export type PairCheckOptions = {
  readonly seed: number;
  readonly pairs: number;
  /** Compare records and events only in every nth pair. */
  readonly recordsEvery?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly progress: (pairs: number) => void;
  /** The call or command that runs these pairs again. */
  readonly again: (seed: number, pairs: number) => string;
};

export type PairCheckReport = {
  readonly pairs: number;
  readonly sights: number;
  readonly bytes: number;
  readonly differences: readonly VerifyDifference[];
  readonly notes: readonly string[];
};

/** What a difference means: the shortest case that shows it, and what was varied. */
export type DifferenceFound = Omit<VerifyDifference, 'again'> & {
  /** The seed with which the case shows on its own; null if only all pairs so far show it. */
  readonly seed: number | null;
  /** Whether it shows only when something is varied. Otherwise it proves nothing, and the search goes on. */
  readonly isProof: boolean;
};

/** The pairs of one kind: of calls, of messages, or of task graphs. */
export abstract class Pairs<Run extends StandInHandler, Pair extends ObservationComparison> {
  /** Why the latest incomparable pair could not be compared. */
  obstacle = '';
  protected readonly subject: Subject;
  protected readonly validate = cachedValidate();
  /** The run whose agents call their tools. */
  protected current: Run | null = null;
  protected readonly handler: StandInHandler = { tool: (...called) => this.current!.tool(...called) };
  #environment: TestEnvironment | undefined;

  constructor(subject: Subject) {
    this.subject = subject;
  }

  protected abstract readonly testAgents: readonly TestAgent[];
  /** Null: this pair cannot be compared. */
  abstract compare(seed: number): Promise<Pair | null>;
  abstract explain(pair: Pair, seed: number): Promise<DifferenceFound>;
  /** Counts what happened, because a comparison of runs in which nothing happens shows nothing. */
  tally(_pair: Pair): void {}

  /** `other`: the agent whose variables have other values in this run. */
  protected world(other: OtherValues | null): TestRunWorld {
    const { environment: given, realTools } = this.subject;
    if (given !== undefined) this.#environment ??= new TestEnvironment(given, this.testAgents);
    const environment = this.#environment;
    return {
      validate: this.validate,
      usesRealTools: realTools === true,
      environmentOf: (testAgent) => environment?.render(testAgent, other) ?? null,
      secretsOf: (testAgent) => environment?.secretsOf(testAgent, other) ?? [],
      redactFor: environment?.redactFor(other) ?? (() => null),
    };
  }

  /** With real tools, runs twice, so that any state the tools keep comes from the same run. */
  protected async runAlone<T>(run: () => Promise<T>): Promise<T> {
    if (this.subject.realTools === true) await run();
    return run();
  }
}

export const checkPairs = async <Pair extends ObservationComparison>(
  source: Pairs<StandInHandler, Pair>,
  { seed, pairs: wanted, signal, progress, again }: PairCheckOptions,
  noun = 'pairs',
): Promise<PairCheckReport> => {
  const seen = { pairs: 0, sights: 0, bytes: 0 };
  let found: VerifyDifference | null = null;
  let isProven = false;
  // Some pairs cannot be compared; the next seed replaces them.
  for (let at = seed; seen.pairs < wanted && at < seed + 4 * wanted + 64 && !isProven; at++) {
    if (signal?.aborted === true) break;
    const compared = await source.compare(at);
    if (compared === null) continue;
    seen.pairs++;
    seen.sights += compared.observations;
    seen.bytes += compared.bytes;
    source.tally(compared);
    progress(seen.pairs);
    if (compared.difference === null) continue;
    const { seed: alone, isProof, ...difference } = await source.explain(compared, at);
    isProven = isProof;
    if (found === null || isProof)
      found = { ...difference, again: alone === null ? again(seed, seen.pairs) : again(alone, 1) };
  }
  const isShort = seen.pairs < wanted && found === null;
  const because = source.obstacle === '' ? '' : `; one could not be: ${source.obstacle}`;
  return {
    ...seen,
    differences: found === null ? [] : [found],
    notes: isShort ? [`Only ${seen.pairs} of ${wanted} ${noun} were compared${because}.`] : [],
  };
};

/** For a difference that a repeated run shows too. */
export const nothingVaried = 'nothing (the same run gives a different result when repeated)';

/** Tool listings bring a new copy of each schema in every session; equal schemas are prepared only once. */
const cachedValidate = (): Validate => {
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

/** The operations of these cells, in order. */
export const cellOperations = (frames: readonly Frame[], cells: Iterable<{ readonly cell: CellId }>): string => {
  const wanted = new Set([...cells].map(({ cell }) => cell));
  const names = frames.flatMap(({ cell, record }) =>
    (record.type === 'begin' || record.type === 'post') && wanted.has(cell) ? [shortName(record.name)] : [],
  );
  return names.length === 0 ? 'nothing' : names.join(' → ');
};

/** `model:openai/x` becomes `model`, `tool:search` becomes `search`, `agent:deep` becomes `deep`. */
const shortName = (name: string): string => {
  const [kind = '', ...rest] = name.split(':');
  return kind === 'model' ? 'model' : kind === 'tools' ? `list ${rest.join(':')}` : rest.join(':') || name;
};

/** How many crossings of one kind reached cells. */
export const countCrossings = (frames: readonly Frame[], kind: string): number =>
  frames.reduce(
    (sum, { contents = [] }) => sum + contents.filter((one) => one.kind === kind && one.to !== 'outside').length,
    0,
  );
