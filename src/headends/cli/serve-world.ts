// What the command line needs for serving.
import type { Agent, ClientRules, Status } from '#contracts';

export type ServeOptions = {
  readonly agents: readonly string[];
  /** Null: nothing listens. */
  readonly port: number | null;
  readonly stdio: boolean;
  readonly tokenFile: string | null;
  readonly host: string;
  readonly expose: boolean;
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  readonly clients: ClientRules;
  readonly places: { readonly running?: number; readonly runningPerAgent?: number; readonly waiting?: number };
  readonly workspace: string;
  /** Nothing is kept on disk. */
  readonly memory: boolean;
  readonly config: string | null;
};

export type ServedAgents = {
  readonly url: string | null;
  readonly stdio: boolean;
  /** The one that was made; null when some were given. */
  readonly token: string | null;
  readonly agents: readonly Pick<Agent, 'name' | 'description' | 'usage' | 'input'>[];
  /** What the operator should know at the start. */
  readonly notes: readonly string[];
};

export type RunningServer = ServedAgents & {
  /** How many runs are under way. */
  running(): number;
  /** When standard input has ended; null when nobody speaks there. */
  readonly inputEnded: Promise<void> | null;
  /** Lets what is under way finish. Gives the runs that have not: they can be resumed. */
  stop(graceMs: number): Promise<readonly string[]>;
  /** Cancels what still runs. */
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
      /** Why it was refused, or failed: a code of the catalogue. */
      readonly code: string | null;
      readonly run: string | null;
      /** What nobody expected, in words. */
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
      /** Held by attempts whose use never became known. */
      readonly uncertain: number;
      readonly usd: number | null;
      readonly ms: number;
    };
