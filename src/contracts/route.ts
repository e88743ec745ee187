// What a protocol headend provides to the HTTP headend: routes, and how to format their errors.
//
//   route-behind-gate. A route is reached only after the gate has checked host, origin, token, rate and body.
import type { ErrorClass, ErrorCode, Json, JsonObject, LimitName, StrictJson } from '#base';
import type { Caller } from './agent-service.ts';

/** A request that has passed the gate. */
export type AdmittedRequest = {
  readonly caller: Caller;
  /** Random request id. */
  readonly id: string;
  /** The `:name` parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** For a POST: strict JSON within all limits. Otherwise undefined. */
  readonly body: Json | undefined;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
};

export type RouteReply =
  /** No body is sent if `body` is undefined. */
  | {
      readonly status: number;
      readonly body: Json | undefined;
      readonly headers?: Readonly<Record<string, string>>;
      /** The error code, for the operator's log; the client finds it in the body. */
      readonly code?: ErrorCode;
    }
  /** Server-sent events. A throw ends the stream; a protocol sends its own errors as events before that. */
  | { readonly events: AsyncIterable<ServerEvent>; readonly headers?: Readonly<Record<string, string>> };

/** One event of a stream. No text in it can start another event. */
export type ServerEvent = { readonly event?: string; readonly id?: string; readonly data: string };

export type HttpRoute = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:name` matches one path segment. */
  readonly path: string;
  /** For two routes with the same path: this one is used if the condition holds. */
  when?(headers: Headers): boolean;
  readonly formatError: ErrorFormatter;
  /** The OpenAPI 3.1 operation, without the parts that all operations share. */
  readonly operation: JsonObject;
  answer(call: AdmittedRequest): Promise<RouteReply>;
};

/** A route of a protocol that has its own description. */
export type PlainRoute = Omit<HttpRoute, 'operation'>;

/** A route that speaks over a WebSocket. */
export type SocketRoute = {
  readonly path: string;
  /** The subprotocol to agree on, if the client offers it. */
  readonly protocol: string;
  open(socket: ServedSocket, caller: Caller): void;
};

/** Sends and receives text messages; incoming messages are JSON. */
export type ServedSocket = {
  /** Resolves when the text has been sent or can no longer be. If too much text is waiting, the socket is closed. */
  send(text: string): Promise<void>;
  close(): void;
  /** Receives strict JSON within all limits, or the problem with it. */
  onMessage(listener: (message: StrictJson) => void): void;
  onClose(listener: () => void): void;
};

/** A failure as a client may see it: no stack, no secret, no text from another cell. */
export type ClientFailure = {
  readonly status: number;
  readonly code: ErrorCode;
  readonly class: ErrorClass;
  readonly message: string;
  readonly suggestion: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  /** The limit that was reached. */
  readonly limit?: LimitName;
};

/** Formats a failure for one protocol. */
export type ErrorFormatter = (failure: ClientFailure, request: string) => JsonObject;
