// What the `serve` command needs from outside.
import type { Agent, ClientRules, Status } from '#contracts';

export type ServeOptions = {
  readonly agents: readonly string[];
  /** Null: does not listen. */
  readonly port: number | null;
  readonly stdio: boolean;
  readonly tokenFile: string | null;
  readonly host: string;
  readonly expose: boolean;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly clients: ClientRules;
  readonly slots: { readonly running?: number; readonly runningPerAgent?: number; readonly waiting?: number };
  readonly workspace: string;
  /** Store nothing on disk. */
  readonly memory: boolean;
  readonly config: string | null;
};

export type ServedAgents = {
  readonly url: string | null;
  readonly stdio: boolean;
  /** The generated token; null if a token file was given. */
  readonly token: string | null;
  readonly agents: readonly Pick<Agent, 'name' | 'description' | 'usage' | 'input'>[];
  /** What the operator should know at the start. */
  readonly notes: readonly string[];
};

export type RunningServer = ServedAgents & {
  /** How many runs are in flight. */
  running(): number;
  /** Settles when stdin ends; null without --stdio-mcp. */
  readonly inputEnded: Promise<void> | null;
  /** Lets runs in flight finish. Returns those that have not; they can be resumed. */
  stop(graceMs: number): Promise<readonly string[]>;
  /** Cancels what is still running. */
  close(): Promise<void>;
};

export type ServeLine =
  | {
      readonly type: 'request';
      readonly id: string;
      readonly caller: string | null;
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly ms: number;
      /** Error code from the catalogue, if it was refused or failed. */
      readonly code: string | null;
      readonly run: string | null;
      /** Message of an unexpected error. */
      readonly defect: string | null;
    }
  | {
      readonly type: 'run';
      readonly caller: string;
      readonly agent: string;
      readonly run: string;
      readonly status: Status;
      /** Why it did not complete. */
      readonly code: string | null;
      readonly tokens: number;
      /** Tokens held for attempts that never reported usage. */
      readonly uncertain: number;
      readonly usd: number | null;
      readonly ms: number;
    };
