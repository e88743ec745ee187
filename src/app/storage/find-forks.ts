// Which runs are forks of others, from the records that say so.
import type { RunId } from '#base';
import type { Frame } from '#contracts';

/** The forks of these runs that are not among them, with the forks of those. */
export const findForks = (records: readonly string[], runs: ReadonlySet<RunId>): readonly RunId[] => {
  const forks = readForks(records);
  const found = new Set<RunId>();
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const { run, origin } of forks) if ((runs.has(origin) || found.has(origin)) && !runs.has(run)) found.add(run);
  }
  return [...found];
};

/** Each fork, with the run that it was made of. */
export const readForks = (records: readonly string[]): ReturnType<typeof readFork> => records.flatMap(readFork);

/** A text that only looks like a record of a fork is none. */
const readFork = (body: string): readonly { readonly run: RunId; readonly origin: RunId }[] => {
  try {
    const { run, record } = JSON.parse(body) as Frame;
    return record.type === 'fork' ? [{ run, origin: record.from.run }] : [];
  } catch {
    return [];
  }
};
