// Messages of a caller's runs that will not be read.
import { CloisterError, omitUndefined } from '#base';
import type { RunId } from '#base';
import type { Caller, DeadLetters, RunArchive } from '#contracts';
import { ownerOf } from './caller-runs.ts';

/** Reads the logs of its newest runs, one at a time. */
export const readDeadLetters = async (archive: RunArchive, reader: Caller, runsMax: number): Promise<DeadLetters> => {
  const caller = ownerOf(reader);
  // probe: dead-letters-by-caller
  const runs = await archive.runs({ ...omitUndefined({ caller }), most: runsMax + 1 });
  const letters: DeadLetters['letters'][number][] = [];
  const damaged: RunId[] = [];
  for (const { run } of runs.slice(0, runsMax)) {
    try {
      letters.push(...(await archive.deadLetters({ run })).letters);
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
      damaged.push(run);
    }
  }
  const read = Math.min(runs.length, runsMax);
  return { letters, read: read - damaged.length, more: runs.length > runsMax, damaged };
};
