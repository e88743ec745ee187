import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Agent, Clock, Ids, Model, Retention } from '#contracts';

export type CloisterOptions = {
  /** Agents, or paths of agent files (`.ai`), of team files (`.yaml`), of folders with agent files, and of modules that export agents. */
  readonly agents: readonly (Agent | string)[];
  /** A config file before all others; see docs/CONFIG.md for where they are looked for. */
  readonly config?: string;
  /** Where relative paths start and config is looked for; default: the working folder of the process. */
  readonly cwd?: string;
  /** The environment that config may refer to; default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Connect to every tool server that the agents name once, and fail now rather than in a session. */
  readonly preconnect?: boolean;
  /** Where runs are kept; default `./.cloister`. */
  readonly workspace?: string;
  /** `memory`: nothing touches the disk. */
  readonly store?: 'memory';
  /** For agents that name no model of their own; tried in this order. */
  readonly models?: readonly (LanguageModelV4 | Model)[];
  /** How many model requests and tool calls may be under way at once in this process; default: no bound. */
  readonly concurrency?: { readonly models?: number; readonly tools?: number };
  /** How many tasks the teams of files work on at once, in the place of what the files say. */
  readonly parallel?: number;
  /** No keys are needed, and no model or server can be reached: for looking at runs and making them again. */
  readonly offline?: boolean;
  /**
   * Whose conversations lie at the top of `conversations/`; those of others lie under their ids. Default: `defaultAgent` of the
   * config, where one is read; else, and with null, nobody's.
   */
  readonly defaultAgent?: string | null;
  /** How long checkpoints are kept; default: all for a day, then one a day, at most 1,000 of an agent. */
  readonly retention?: Partial<Retention>;
  /** How often a run of a conversation that goes on is saved; default: every 30 seconds, and at its end. */
  readonly autosaveMs?: number;
  /** For tests: another clock, other ids. */
  readonly clock?: Clock;
  readonly ids?: Ids;
};
