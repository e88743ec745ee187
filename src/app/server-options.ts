import type { Agent, ClientRules, Clock, Ids, RunOutcome } from '#contracts';
import type { AnsweredRequest, HttpLimits } from '#headends/http';
import type { SlotQueueOptions } from './serve/slot-queue.ts';
import type { TokenEntry } from './serve/token-registry.ts';

export type ServerOptions = {
  /** Which agents are served, by name; default: all of the Cloister's. */
  readonly agents?: readonly string[];
  /** Default: one token is made, and shown once as `token`. */
  readonly tokens?: readonly TokenEntry[];
  /** Default 127.0.0.1. Anything that is not this machine alone needs `expose`. */
  readonly host?: string;
  /** Default 8787; 0: any that is free. */
  readonly port?: number;
  readonly expose?: boolean;
  /** Names by which the server may be called, besides those of this machine. */
  readonly hosts?: readonly string[];
  /** Pages from there may use it: `https://chat.example.com`. */
  readonly origins?: readonly string[];
  readonly places?: Partial<SlotQueueOptions>;
  readonly clients?: Partial<ClientRules>;
  /** How long a client may take for one call of its tools; default 5 minutes. */
  readonly clientToolMs?: number;
  readonly limits?: Partial<HttpLimits>;
  /** Hears of each request that was answered, and of each run that has ended. */
  readonly log?: (line: ServerLine) => void;
  /** For tests. */
  readonly clock?: Clock;
  readonly ids?: Ids;
};

export type ServerLine =
  | ({ readonly type: 'request'; readonly run: string | null } & Omit<AnsweredRequest, 'caller'> & {
        readonly caller: string | null;
      })
  | { readonly type: 'run'; readonly caller: string; readonly agent: string; readonly outcome: RunOutcome };

export type Server = {
  /** The token that was made; null when some were given. */
  readonly token: string | null;
  readonly agents: readonly Agent[];
  /** How many runs are under way. */
  readonly running: number;
  /** Answers a request without a socket. */
  fetch(request: Request): Promise<Response>;
  /** Rejects with `address_taken` or `options_invalid`. */
  listen(): Promise<{ readonly url: string; readonly port: number }>;
  /** MCP over these streams, for whoever started the process. Ends with its input. */
  serveStdio(streams: {
    readonly input: NodeJS.ReadableStream;
    readonly output: NodeJS.WritableStream;
  }): Promise<{ readonly ended: Promise<void> }>;
  /**
   * Refuses what is new and waits for what is under way, so long at most. What has not ended then is let go: gives those runs,
   * which can be resumed once this process is gone. Closing the Cloister instead cancels them.
   */
  stop(graceMs?: number): Promise<readonly string[]>;
};
