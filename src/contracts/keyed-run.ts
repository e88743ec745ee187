// The id of the run of a request that may come twice.
import { sha256 } from '#base';
import type { RunId } from '#base';

/** It follows from the caller and the key, so the same key finds the same run. `nth`: how often the key has expired before. */
export const keyedRunId = (caller: string, key: string, nth = 0): RunId =>
  sha256(`run ${JSON.stringify([caller, key, ...(nth === 0 ? [] : [nth])])}`).slice(0, 24) as RunId;
