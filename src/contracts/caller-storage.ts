// What callers of a server do with their recorded runs.
import type { RunId } from '#base';
import type { ConversationRef } from './conversation.ts';
import type { DeletionReport, RunDeletionOptions } from './run-storage.ts';

/** `C`: how a caller is named. */
export interface CallerStorage<C> {
  /**
   * Deletes a run of this caller for good. Copies that belong to others are neither named nor deleted. Rejects with `run_unknown`,
   * `run_owned` or `run_kept`.
   */
  delete(caller: C, run: string, options: CallerDeletion): Promise<readonly RunId[]>;
  /** What operators do with the runs of all callers. Throws `route_unknown` for anybody else, whatever is asked of it. */
  asOperator(caller: C): OperatorStorage;
}

/**
 * The log of a run says more than any caller is shown: where the operator's files are, how agents are defined, who else answered. So an
 * archive, whole as it must be, is for operators only.
 */
export interface OperatorStorage {
  /** See `RunStorage.export`. */
  export(run: string): Promise<Uint8Array>;
  archive(run: string, options: { readonly why?: string | undefined }): Promise<DeletionReport>;
  restore(run: string): Promise<void>;
  /** Everything of a caller, or a conversation under the name that the caller gave it. */
  forget(
    caller: string,
    conversation: ConversationRef | null,
    options: Pick<RunDeletionOptions, 'dryRun' | 'force' | 'why'>,
  ): Promise<DeletionReport>;
}

/** As in `RunDeletionOptions`. */
export type CallerDeletion = {
  readonly force?: boolean | undefined;
  readonly withLater?: boolean | undefined;
  readonly why?: string | undefined;
};
