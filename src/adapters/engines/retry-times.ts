// When an engine calls again.

/** After a run was lost: about as long as a worker that died keeps its lease. */
export const lostMs = 1_000;

/** After the nth refusal, the first being 0; null: no more. Together they take longer than a request waits for a worker. */
export const refusalMs = (nth: number): number | null => (nth > refusalsMax ? null : Math.min(2_000, 250 * 2 ** nth));

const refusalsMax = 160;
