import { amount, boolean, cap, checkOptions, optionsShape, whole } from '#base/shapes';
import type { OptionFields } from '#base/shapes';
import type { Agent, ClientRules, Clock, Ids, RunOutcome, SlackConfig, TokenEntry } from '#contracts';
import { defaultLimits } from '#headends/http';
import type { AnsweredRequest, HttpLimits } from '#headends/http';
import type { ResumeAttempt, RetentionPass, SlotLimits } from '#app/serve';

/** The options of `openServer`. All are optional. */
export type ServerOptions = {
  /** Names of the agents to serve; default: all agents of the Cloister. */
  readonly agents?: readonly string[];
  /** Default: one token is generated and returned as `token`. */
  readonly tokens?: readonly TokenEntry[];
  /** Default 127.0.0.1. An address that other machines can reach needs `expose`. */
  readonly host?: string;
  /** Default 8787; 0: any free port. */
  readonly port?: number;
  /** Allows an address that other machines can reach. */
  readonly expose?: boolean;
  /** Host names accepted in requests, besides those of this machine. */
  readonly hosts?: readonly string[];
  /** Origins whose web pages may call the server, such as `https://chat.example.com`. */
  readonly origins?: readonly string[];
  /** How many runs may run, and how many requests may wait. */
  readonly slots?: Partial<SlotLimits>;
  /** What clients may send and see. Default: no system prompts, no tools of their own, no activity, nothing ignored (`compat`). */
  readonly clients?: Partial<ClientRules>;
  /** How long a client may take for one tool call, also while the server is down; then the tool has failed. Default: a day. */
  readonly clientToolMs?: number;
  /** How many hours an `Idempotency-Key` holds after the end of its run; `Infinity`: as long as the run is kept. Default 24. */
  readonly idempotencyHours?: number;
  /** Whether interrupted runs of its callers are resumed when it starts to listen, and after the disk has failed. Default true. */
  readonly resumeInterrupted?: boolean;
  /** Whether runs that are no longer kept (`keep` of the Cloister) are deleted: when it starts, and every hour. Default true. */
  readonly expireRuns?: boolean;
  /** How much a client may send, and how long it may take. */
  readonly limits?: Partial<HttpLimits>;
  /** Answers in Slack, too: the app, and who answers where, as in the `slack` block of the config, with the tokens themselves. */
  readonly slack?: SlackConfig;
  /** Called for each answered request, each ended run, each interrupted run that is found, and when runs are deleted because they are no longer kept. */
  readonly log?: (line: ServerLine) => void;
  /** The time; for tests. */
  readonly clock?: Clock;
  /** Random ids; for tests. */
  readonly ids?: Ids;
};

/** One line of the server's log: an answered request, a run that has ended, an interrupted run that was found, runs that were deleted because they are no longer kept, whether it can take work, or news of Slack. */
export type ServerLine =
  | ({ readonly type: 'request'; readonly run: string | null } & Omit<AnsweredRequest, 'caller'> & {
        readonly caller: string | null;
      })
  | { readonly type: 'run'; readonly caller: string; readonly agent: string; readonly outcome: RunOutcome }
  | ({ readonly type: 'resume' } & ResumeAttempt)
  | ({ readonly type: 'expire' } & RetentionPass)
  /** It can no longer take work, and why; empty: it can again. */
  | { readonly type: 'ready'; readonly problems: readonly string[] }
  | { readonly type: 'slack'; readonly text: string };

/** How it is connected to Slack. `workspace`: its name; null: Slack cannot be reached yet, and is tried again. */
export type SlackState = { readonly workspace: string | null; readonly transport: 'socket' | 'http' };

/** Agents served over HTTP. `openServer` returns one; call `listen`, and `stop` at the end. */
export type Server = {
  /** The generated token; null when `tokens` was set. */
  readonly token: string | null;
  /** The agents that it serves. */
  readonly agents: readonly Agent[];
  /** How many runs are running. */
  readonly running: number;
  /** Answers a request without a socket. */
  fetch(request: Request): Promise<Response>;
  /** Starts to listen, and to answer in Slack, and returns the address. Rejects with `address_taken`, `options_invalid` or `slack_failed`. */
  listen(): Promise<{ readonly url: string; readonly port: number; readonly slack?: SlackState }>;
  /** Serves MCP over these streams, for the process that started this one. Ends when the input ends. */
  serveStdio(streams: {
    readonly input: NodeJS.ReadableStream;
    readonly output: NodeJS.WritableStream;
  }): Promise<{ readonly ended: Promise<void> }>;
  /**
   * Refuses new requests and waits up to `graceMs` for running runs. Returns the runs that have not ended by then: they can be
   * resumed once this process has exited. Closing the Cloister cancels them instead.
   */
  stop(graceMs?: number): Promise<readonly string[]>;
};

const number = cap(amount());

/** The tokens are checked with the agents that are served. */
const fields = {
  agents: 'texts',
  tokens: 'any',
  host: 'text',
  port: whole(0, 65_535),
  expose: 'flag',
  hosts: 'texts',
  origins: 'texts',
  slots: optionsShape({
    running: number,
    runningPerAgent: number,
    runningPerCaller: number,
    waiting: number,
    waitingPerCaller: number,
  }),
  clients: optionsShape({ system: boolean(), tools: boolean(), activity: boolean(), compat: boolean() }),
  resumeInterrupted: boolean(),
  expireRuns: boolean(),
  clientToolMs: number,
  idempotencyHours: number,
  // With the agents that are served.
  slack: 'any',
  limits: optionsShape(Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, number]))),
  log: 'any',
  clock: 'any',
  ids: 'any',
} as const satisfies Record<keyof ServerOptions, OptionFields[string]>;

/** A misspelt option would be ignored, and could leave more open than intended. Throws `options_invalid`. */
export const checkServerOptions = (options: ServerOptions): void => checkOptions(options, fields);
