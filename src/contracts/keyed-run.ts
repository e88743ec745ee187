// The id of the run of a request that may come twice.
import { sha256 } from '#base';
import type { RunId } from '#base';

export type RequestKey = {
  /** The client's `Idempotency-Key`: the same key gives the same run. */
  readonly key?: string;
  /** The key does not expire: who chose it uses it for this request alone, however late it is sent again. */
  readonly lastingKey?: boolean;
};

/** It follows from the caller and the key, so the same key finds the same run. `nth`: how often the key has expired before. */
export const keyedRunId = (caller: string, key: string, nth = 0): RunId =>
  sha256(`run ${JSON.stringify([caller, key, ...(nth === 0 ? [] : [nth])])}`).slice(0, 24) as RunId;
