// Every bound that a tool server is held to.

/** One message of a server: an answer, a list of tools. A tool's result may be smaller still; core decides that. */
export const messageBytesMax = 24_000_000;

/** How much of a message that is too large is looked at, on each side, to tell whose answer it is. */
export const endBytes = 512;

/** Of what a process wrote to stderr, so much is shown when it fails. */
export const stderrCharsMax = 2_000;

export const descriptionCharsMax = 4_000;
export const toolsMax = 512;
export const schemaBytesMax = 1_000_000;
export const schemaDepthMax = 100;

/** Tools that are looked through for those that the config names. */
export const listedToolsMax = 10_000;

/** As long as timers can wait. The caller's signal is the only time-out: the client's own would look like a cancellation. */
export const noTimeoutMs = 2_147_483_647;

/** How long connecting and listing may take, together. */
export const connectMs = ({ connectTimeoutMs = 30_000 }: { readonly connectTimeoutMs?: number }): number =>
  Math.min(connectTimeoutMs, noTimeoutMs);

/** How long a server may take to end by itself when it is closed, and again when it is asked to. */
export const graceMs = 500;

/** How long closing may take at all. */
export const closeMs = 2_000;

export const shownCount = (count: number): string => count.toLocaleString('en-US');
