// What one client may take up.

/** Requests of one connection that are not answered yet; and refusals that it has not taken. */
export const unansweredMax = 64;
/** Every id is kept as long as its request is not answered. */
export const rpcIdCharsMax = 256;
/** Notes of progress that wait for one client to read them; further ones are left out. */
export const notesWaitingMax = 16;
/** Notes of progress of one call: so many at once, then so many a second. */
export const notesAtOnce = 20;
export const notesPerSecond = 5;
/** One line on standard input; what comes over HTTP is bounded there. */
export const lineBytesMax = 4 * 1024 * 1024;
export const jsonDepthMax = 64;
/** Streams that stay open over HTTP: of one caller, and of all. */
export const sessionsPerCallerMax = 64;
export const sessionsMax = 1_024;
/** How often one connection may wait for news of this server; there are none. */
export const subscriptionsMax = 8;
