// What a protocol headend provides to the HTTP headend: routes, and how to format their errors.
//
//   route-behind-gate. A route is reached only after the gate has checked host, origin, token, rate and body. An open route
//       takes requests without a token, and knows no caller.
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
  /** The body as it was received, for a route with `takes`. */
  readonly bytes?: Uint8Array;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
};

/** A request without a token: host, origin and rate have been checked. */
type OpenRequest = Omit<AdmittedRequest, 'caller'>;

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
  | {
      readonly events: AsyncIterable<ServerEvent>;
      readonly headers?: Readonly<Record<string, string>>;
      /** Compressed for clients that accept it; each event is still sent at once. */
      readonly compress?: true;
    }
  /** Only from a route with `files`. */
  | { readonly file: RouteFile };

export type RouteFile = {
  /** Its media type. */
  readonly type: string;
  /** SHA-256 of its bytes, if it is known: clients then need not load the same bytes twice. */
  readonly hash?: string;
  /**
   * `none`: it is not kept. `revalidate`: a client asks each time whether its copy is still the same. `immutable`: its address
   * always stands for these bytes. Behind a token, that is the same as `revalidate`: a copy is used only by whoever has the token.
   */
  readonly cache: 'none' | 'revalidate' | 'immutable';
  /** The client stores it, under this name if there is one, and does not show it. */
  readonly download?: { readonly name?: string };
  /** Default 200. */
  readonly status?: number;
} &
  /** `gzip`: the same bytes compressed, for clients that accept it. */
  (
    | { readonly bytes: Uint8Array; readonly gzip?: Uint8Array }
    /** A stream of exactly `length` bytes. It is opened only if they are sent. */
    | { readonly length: number; readonly open: () => AsyncIterable<Uint8Array> }
  );

/** One event of a stream. No text in it can start another event. */
export type ServerEvent = { readonly event?: string; readonly id?: string; readonly data: string };

type RouteAddress = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:name` matches one path segment. */
  readonly path: string;
  /** For two routes with the same path: this one is used if the condition holds. */
  when?(headers: Headers): boolean;
  readonly formatError: ErrorFormatter;
  /** It answers with files, under this content security policy, and changes nothing: HEAD is answered, too. */
  readonly files?: { readonly policy: string };
  /** Media types that it takes besides JSON. The request then has the body's `bytes` as well. */
  readonly takes?: readonly string[];
};

/** A route of a protocol that has its own description. */
export type PlainRoute = RouteAddress & {
  readonly open?: false;
  answer(call: AdmittedRequest): Promise<RouteReply>;
};

/** A route that needs no token: a page, or a request that proves itself in another way. */
export type OpenRoute = RouteAddress & {
  readonly open: true;
  answer(call: OpenRequest): Promise<RouteReply>;
};

export type HttpRoute = PlainRoute & {
  /** The OpenAPI 3.1 operation, without the parts that all operations share. */
  readonly operation: JsonObject;
};

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
