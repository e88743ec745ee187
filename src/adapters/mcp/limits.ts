// All limits for tool servers.

/** Largest message of a server, such as a response or a tool list. Core may set a smaller limit for tool results. */
export const messageBytesMax = 24_000_000;

/** Bytes kept from each end of an oversized message, to find the request it answers. */
export const lineEndBytes = 512;

/** Characters of stderr shown when a process fails. */
export const stderrCharsMax = 2_000;

export const descriptionCharsMax = 4_000;
export const toolsMax = 512;
export const schemaBytesMax = 1_000_000;
export const schemaDepthMax = 100;

/** Most tools of a list that are searched for those in the config. */
export const listedToolsMax = 10_000;

/** The longest possible timer. The caller's signal is the only timeout: the client's own would look like a cancellation. */
export const noTimeoutMs = 2_147_483_647;

/** Time limit for connecting and listing together. */
export const connectMs = ({ connectTimeoutMs = 30_000 }: { readonly connectTimeoutMs?: number }): number =>
  Math.min(connectTimeoutMs, noTimeoutMs);

/** Time for a server to exit after its stdin is closed, and again after SIGTERM. */
export const graceMs = 500;

/** Total time limit for closing. */
export const closeMs = 2_000;

export const formatCount = (count: number): string => count.toLocaleString('en-US');
