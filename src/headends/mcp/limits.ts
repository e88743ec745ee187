// Limits for one client.

/** Unanswered requests of one connection; also the number of refusals that it has not read yet. */
export const unansweredMax = 64;
/** An id is kept in memory until its request is answered. */
export const rpcIdCharsMax = 256;
/** Progress notifications that wait for one client to read them; further ones are dropped. */
export const progressWaitingMax = 16;
/** Progress notifications of one call: the size of a burst, and the rate after it. */
export const progressBurst = 20;
export const progressPerSecond = 5;
/** One line on standard input. The HTTP headend has its own limit. */
export const lineBytesMax = 4 * 1024 * 1024;
export const jsonDepthMax = 64;
/** Long-lived HTTP streams: of one caller, and of all callers. */
export const sessionsPerCallerMax = 64;
export const sessionsMax = 1_024;
/** Subscriptions of one connection. This server never publishes anything to them. */
export const subscriptionsMax = 8;
