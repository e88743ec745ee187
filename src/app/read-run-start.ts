import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, RunStartInfo, Store } from '#contracts';
import { openStorePlace } from './open-store.ts';
import type { StorePlace } from './open-store.ts';

/** `parallel`: how many tasks the team worked on in parallel; the team file may say something else. */
type RunStartSettings = RunStartInfo & { readonly parallel?: number };

/** The agents, config and folder that a run was started with, from the first record of its log. */
export const readRunStart = async (place: StorePlace, run: string, archive?: Store): Promise<RunStartSettings> => {
  const runs = [run as RunId];
  const starts = archive === undefined ? await readRunStarts(place, runs) : await startsIn(archive, runs);
  const started = starts.get(runs[0]!);
  if (started !== undefined) return started;
  throw new CloisterError('agent_unknown', `Run ${run} was started from code. Pass its agents with --agents.`);
};

/** Without those that were started from code. */
export const readRunStarts = async (
  place: StorePlace,
  runs: readonly RunId[],
): Promise<ReadonlyMap<RunId, RunStartSettings>> => {
  const store = await openStorePlace(place);
  try {
    return await startsIn(store, runs);
  } finally {
    await store.close();
  }
};

const startsIn = async (store: Store, runs: readonly RunId[]): Promise<ReadonlyMap<RunId, RunStartSettings>> => {
  const found = new Map<RunId, RunStartSettings>();
  for (const run of runs) {
    const [first] = await store.read(run);
    const started = first?.record.type === 'open' ? first.record.started : undefined;
    if (started !== undefined) found.set(run, { ...started, ...readParallel(first) });
  }
  return found;
};

/** The root is defined in the frame that opens the run. */
const readParallel = (first: Frame | undefined): Pick<RunStartSettings, 'parallel'> => {
  const root = first?.record.type === 'open' ? first.record.birth?.digest : undefined;
  const team = first?.definitions?.find(({ digest }) => digest === root)?.definition.team;
  return team === undefined ? {} : { parallel: team.parallel };
};
