// Deletes the runs that are no longer kept, in batches.
//
//   expiry-in-batches. Between batches others are served, and the work can be ended. What was deleted by then stays deleted.
//   expiry-leaves-copied. A run of which something else holds copies stays until that is gone.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { checkOptions, checkShape, valueOf, whole } from '#base/shapes';
import { expiryRulesShape } from '#contracts';
import type { Clock, ExpiryOptions, KeepRules, RunSummary, Store, Tombstone } from '#contracts';
import type { RunCopies } from '#app/conversations';
import { expiredUnits, KeepUnits } from './expired-runs.ts';
import type { ExpiredUnit, KeepUnit } from './expired-runs.ts';
import { readForks } from './find-forks.ts';

type ExpiryPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly copies: Pick<RunCopies, 'kept'>;
  /** Lets others work, if it is time for that. */
  readonly pause: () => Promise<void> | undefined;
  /** Deletes all of these or none. `whyOf`: a reason for each run. */
  remove(
    units: readonly KeepUnit[],
    options: { readonly dryRun: boolean; readonly whyOf: (run: RunId) => string },
  ): Promise<readonly Tombstone[]>;
  /** What is left to do when runs were deleted. */
  finish(): Promise<unknown>;
};

/** How many runs are deleted, and how many are listed, at a time. */
const [batchRuns, pageRuns] = [100, 1_000];

const keptCodes: readonly string[] = ['run_kept', 'run_owned', 'run_unknown', 'conversation_unknown'];

export const expireRuns = async (
  rules: KeepRules | null,
  options: ExpiryOptions,
  ports: ExpiryPorts,
): Promise<readonly Tombstone[]> => {
  const optionsError = (text: string): CloisterError => new CloisterError('options_invalid', text);
  if (rules === null) throw optionsError(noRulesText);
  checkShape(expiryRulesShape, rules, optionsError, 'keep');
  checkOptions(options, { dryRun: 'flag', most: whole(1), spare: functionShape, signal: 'signal' });
  const { dryRun = false, most = Infinity, signal } = options;
  const due = expiredUnits(await readUnits(rules, options, ports), rules, ports.clock.now());
  const gone: Tombstone[] = [];
  try {
    for (const batch of batchesOf(due, most)) {
      if (signal?.aborted === true) break;
      gone.push(...(await removeBatch(batch, dryRun, ports)));
      await ports.pause();
    }
  } finally {
    if (gone.length > 0 && !dryRun) await ports.finish();
  }
  return gone;
};

const functionShape = valueOf<never>('a function', (value) => typeof value === 'function');

const noRulesText =
  'Nothing says how long runs are kept: set `keep` in .ai-agent.json, or say how many days, runs or bytes are kept.';

/** If one of them stays meanwhile, the others go without it. */
const removeBatch = async (
  batch: readonly ExpiredUnit[],
  dryRun: boolean,
  ports: ExpiryPorts,
): Promise<readonly Tombstone[]> => {
  const reasons = new Map(batch.flatMap(({ runs, why }) => runs.map((run) => [run, why] as const)));
  try {
    return await ports.remove(batch, { dryRun, whyOf: (run) => reasons.get(run) ?? '' });
  } catch (error) {
    // Others hold the same text, or it has just been taken up again: it stays until that is over.
    const isKept = error instanceof CloisterError && keptCodes.includes(error.code);
    if (!isKept) throw error;
    if (batch.length === 1) return [];
    const half = Math.ceil(batch.length / 2);
    const first = await removeBatch(batch.slice(0, half), dryRun, ports);
    return [...first, ...(await removeBatch(batch.slice(half), dryRun, ports))];
  }
};

const batchesOf = (units: readonly ExpiredUnit[], most: number): readonly (readonly ExpiredUnit[])[] => {
  const batches: ExpiredUnit[][] = [];
  let [all, runs] = [0, Infinity];
  for (const unit of units) {
    if (all >= most) break;
    all += unit.runs.length;
    if (runs + unit.runs.length > batchRuns) [batches[batches.length], runs] = [[], 0];
    batches.at(-1)!.push(unit);
    runs += unit.runs.length;
  }
  return batches;
};

/** Newest first. */
const readUnits = async (
  rules: KeepRules,
  { spare = () => false }: ExpiryOptions,
  { store, copies, pause }: ExpiryPorts,
): Promise<readonly KeepUnit[]> => {
  const { conversations, asked, branches } = await copies.kept();
  const copied = new Set([...asked, ...branches]);
  const ofConversation = new Map(conversations.flatMap(({ ref, nodes }) => [...nodes.keys()].map((run) => [run, ref])));
  // A fork within the same conversation goes with it.
  for (const { run, origin } of readForks(await store.forkRecords()))
    if (ofConversation.get(run) === undefined || ofConversation.get(run) !== ofConversation.get(origin))
      copied.add(origin);
  const bytes = countsBytes(rules) ? await store.runBytes() : new Map<RunId, number>();
  const units = new KeepUnits(conversations.map(({ ref, nodes }) => ({ conversation: ref, runs: [...nodes.keys()] })));
  for (let before: RunId | undefined; ;) {
    const page: readonly RunSummary[] = await store.list({ most: pageRuns, before });
    for (const one of page) {
      const mayGo = one.state === 'ended' && !copied.has(one.run) && !spare(one);
      units.add(one, mayGo, bytes.get(one.run) ?? 0);
    }
    before = page.at(-1)?.run;
    if (page.length < pageRuns) return units.all();
    await pause();
  }
};

const countsBytes = ({ bytes, agents = {} }: KeepRules): boolean =>
  bytes !== undefined || Object.values(agents).some((own) => own.bytes !== undefined);
