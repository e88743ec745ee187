// What a protocol headend gives to the one that speaks HTTP: routes, and how to tell what went wrong on them.
//
//   R1. A route is reached only after the gate: host, origin, token, rate and body have been looked at.
//   R2. A route gives data; only the HTTP headend makes bytes of it.
import type { ErrorClass, ErrorCode, Json, JsonObject, StrictJson } from '#base';
import type { Caller } from './agent-service.ts';

/** A request that has passed the gate. */
export type AdmittedRequest = {
  readonly caller: Caller;
  /** Of this request; random. */
  readonly id: string;
  /** The `:name` parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Of a POST: strict JSON within all limits. Else undefined. */
  readonly body: Json | undefined;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
};

export type RouteReply =
  /** Without a body where it is undefined. */
  | {
      readonly status: number;
      readonly body: Json | undefined;
      readonly headers?: Readonly<Record<string, string>>;
      /** Why it is no answer, for the operator; the client has it in the body. */
      readonly code?: ErrorCode;
    }
  /** Server-sent events. What throws in there ends the stream; a protocol tells its own errors as events before. */
  | { readonly events: AsyncIterable<ServerEvent>; readonly headers?: Readonly<Record<string, string>> };

/** One event of a stream. No text in it can begin another one. */
export type ServerEvent = { readonly event?: string; readonly id?: string; readonly data: string };

export type HttpRoute = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With `:name` for a part that may be anything but a slash. */
  readonly path: string;
  /** Of two routes with one path: this one, if it holds. */
  when?(headers: Headers): boolean;
  readonly form: ErrorFormatter;
  /** For the description of the interface: an OpenAPI 3.1 operation, without what all have in common. */
  readonly operation: JsonObject;
  answer(call: AdmittedRequest): Promise<RouteReply>;
};

/** Of a protocol that describes itself. */
export type PlainRoute = Omit<HttpRoute, 'operation'>;

/** A route that speaks over a WebSocket. */
export type SocketRoute = {
  readonly path: string;
  /** The subprotocol to agree on, if the client offers it. */
  readonly protocol: string;
  open(socket: ServedSocket, caller: Caller): void;
};

/** Texts in both directions; those that come in are JSON. */
export type ServedSocket = {
  /** Resolves when it has been taken, or cannot be any more. What is sent before that is bounded; past that it is closed. */
  send(text: string): Promise<void>;
  close(): void;
  /** What came: strict JSON within all limits, or what is wrong with it. */
  onMessage(listener: (message: StrictJson) => void): void;
  onClose(listener: () => void): void;
};

/** A failure as a client may see it: no stack, no secret, no words of another cell. */
export type ClientFailure = {
  readonly status: number;
  readonly code: ErrorCode;
  readonly class: ErrorClass;
  readonly message: string;
  readonly suggestion: string;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
};

/** How a protocol tells what went wrong. */
export type ErrorFormatter = (failure: ClientFailure, request: string) => JsonObject;
