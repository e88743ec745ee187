// Time limits of the product in tests that run in real time: a busy machine is slow, not wrong.

/** A limit that must not be reached in a test. */
export const neverMs = 900_000;

/** Limits for a server whose clients are in the same process: on a busy machine one may have to wait long for the other. */
export const patientLimits = <L extends { readonly requestTimeoutMs?: number }>(limits: L) => ({
  // Node wants headers no later than the whole request.
  headersTimeoutMs: Math.min(neverMs, limits.requestTimeoutMs ?? neverMs),
  requestTimeoutMs: neverMs,
  stallMs: neverMs,
  idleMs: neverMs,
  ...limits,
});

const cpuMs = 20;

/** How many times as long as on a quiet machine everything takes now. For limits that a test does reach. */
export const slowdown = (): number => {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  for (;;) {
    const { user, system } = process.cpuUsage(cpu);
    if (user + system >= cpuMs * 1_000) return Math.max(1, Math.ceil((performance.now() - start) / cpuMs));
  }
};
