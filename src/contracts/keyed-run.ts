// The id of the run of a request that may come twice.
import { sha256 } from '#base';
import type { RunId } from '#base';

/** It follows from the caller and the key, so the same key finds the same run. */
export const keyedRunId = (caller: string, key: string): RunId =>
  sha256(`run ${JSON.stringify([caller, key])}`).slice(0, 24) as RunId;
