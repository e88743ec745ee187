// What follows from stored records alone fails only if they are not what was written.
import { CloisterError } from './errors/index.ts';

/**
 * Rejects with an error of the catalogue, whatever `work` fails with. For work that depends on the records of one run and on nothing
 * else. A record can have hashes that fit and hold what no run has ever written.
 */
export const fromRecords = async <T>(run: string, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const detail = `Run ${run} has a record that cannot be used: ${why}. If \`cloister audit ${run}\` finds nothing, this is a bug in Cloister.`;
    throw new CloisterError('store_damaged', detail, { cause: error });
  }
};
