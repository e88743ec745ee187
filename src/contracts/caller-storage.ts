// What callers of a server do with their recorded runs.
import type { RunId } from '#base';

/** `C`: how a caller is named. */
export interface CallerStorage<C> {
  /**
   * Deletes a run of this caller for good. Copies that belong to others are neither named nor deleted. Rejects with `run_unknown`,
   * `run_owned` or `run_kept`.
   */
  delete(caller: C, run: string, options: CallerDeletion): Promise<readonly RunId[]>;
}

/** As in `RunDeletionOptions`. */
export type CallerDeletion = {
  readonly force?: boolean | undefined;
  readonly withLater?: boolean | undefined;
  readonly why?: string | undefined;
};
