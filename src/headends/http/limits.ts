// How much a client may send, and how long it may take.

export type HttpLimits = {
  readonly bodyBytesMax: number;
  /** For all bodies that are being read together; one caller may use half of it. */
  readonly bodiesBytesMax: number;
  readonly depthMax: number;
  /** Request line and headers together. */
  readonly headerBytesMax: number;
  readonly urlCharsMax: number;
  readonly headersTimeoutMs: number;
  /** For the whole request, body included. */
  readonly requestTimeoutMs: number;
  /** How long a client may take to read one part of a response. */
  readonly stallMs: number;
  /** A silent stream sends a comment after this time. */
  readonly keepAliveMs: number;
  /** How long a connection may stay open without a request. */
  readonly idleMs: number;
  readonly connectionsMax: number;
  /** For requests without a token, from one network address. */
  readonly openRequestsPerMinute: number;
};

export const defaultLimits: HttpLimits = {
  bodyBytesMax: 4 * 1024 * 1024,
  bodiesBytesMax: 64 * 1024 * 1024,
  depthMax: 64,
  headerBytesMax: 32 * 1024,
  urlCharsMax: 16 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  stallMs: 30_000,
  keepAliveMs: 15_000,
  idleMs: 10_000,
  connectionsMax: 4_096,
  openRequestsPerMinute: 600,
};
