import type { LanguageModelV4 } from '@ai-sdk/provider';
import { CloisterError } from '#base';
import { amount, checkShape, listOf, mapOf, object, oneOf, orNull, string, valueOf, whole } from '#base/shapes';
import type { Shape } from '#base/shapes';
import { isPostgresUrl } from '#adapters/stores';
import { keepRulesShape } from '#contracts';
import type { Agent, Clock, Ids, IndeterminatePolicy, KeepRules, Model, Retention } from '#contracts';
import { modelShape } from '#core/orchestration';
import { retentionDefault } from '#app/conversations';
import type { QuestionHandler } from './question-handler.ts';
import type { StallClock } from './stall-monitor.ts';

/** The options of `openCloister`. Only `agents` is required. */
export type CloisterOptions = {
  /** Agents, or paths to agent files (`.ai`), team files (`.yaml`), folders with agent files, or modules that export agents. */
  readonly agents: readonly (Agent | string)[];
  /** A config file that takes precedence over all others; docs/CONFIG.md says where those are searched for. */
  readonly config?: string;
  /** Base for relative paths and for the config search; default: the working folder of the process. */
  readonly cwd?: string;
  /** The environment variables that config may refer to; default: those of the process. `env` of a run comes before them. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Look up every variable and connect once to every tool server that the agents name, to fail now rather than when they run. */
  readonly preconnect?: boolean;
  /** Where runs are stored, and the files of agents; default `./.cloister`. */
  readonly workspace?: string;
  /**
   * `memory`: nothing touches the disk. `postgres://<user>@<host>/<database>`: runs are stored in PostgreSQL, where several machines can
   * share them; the workspace then holds only what belongs to this machine. Default: runs are stored in the workspace.
   */
  readonly store?: string;
  /** For agents that name no model; tried in this order. */
  readonly models?: readonly (LanguageModelV4 | Model)[];
  /** How many model requests and tool calls may be in flight at a time in this process; default: no limit. */
  readonly concurrency?: { readonly models?: number; readonly tools?: number };
  /** How many tasks teams work on in parallel; overrides what team files say. */
  readonly parallel?: number;
  /** Needs no keys and reaches no model or server: for inspecting and replaying runs. */
  readonly offline?: boolean;
  /**
   * The agent whose conversations are exported to the top of `conversations/`; those of others go to a folder named after the
   * agent. Default: `defaultAgent` in the config, if a config is read; otherwise, and with null, no agent.
   */
  readonly defaultAgent?: string | null;
  /** How long checkpoints are kept; default: all for a day, then one a day, at most 1,000 per agent and caller of a server. */
  readonly retention?: Partial<Retention>;
  /**
   * How long recorded runs are kept. A server of this Cloister deletes the others by itself; without a server, `storage.expire()` does.
   * Default: `keep` in the config, if a config is read; otherwise they are kept until somebody deletes them.
   */
  readonly keep?: KeepRules;
  /** How often a running run of a conversation is saved; default: every 30 seconds, and at its end. */
  readonly autosaveMs?: number;
  /** How long the tool servers of an agent that waits for a person stay open; its next call opens them again. Default: 5 minutes. */
  readonly serverIdleMs?: number;
  /**
   * What happens, when a run is resumed, to calls that must not be repeated and were in flight when it was interrupted. `continue`: the
   * model is told that their outcome is unknown. `ask`: a person is asked first whether to call again. `fail`: the agent that made the
   * call ends as failed. Default: `indeterminate` in the config, if a config is read; otherwise `continue`.
   */
  readonly indeterminate?: IndeterminatePolicy;
  /**
   * Called with each question of a run in this process, once it is on disk. Returns an answer, or undefined to leave the question open
   * for people. If it throws, the question stays open too.
   */
  readonly onQuestion?: QuestionHandler;
  /** The time; for tests. */
  readonly clock?: Clock;
  /** Random ids; for tests. */
  readonly ids?: Ids;
  /** Measures how long the event loop is blocked; for tests. */
  readonly stallClock?: StallClock;
};

/** Checked where it is used. */
const any = valueOf<never>('a value', () => true);

const most = amount(1);

const storeShape = valueOf<string>(
  '"memory", or the address of a PostgreSQL database such as postgres://user@host/database',
  (value) => typeof value === 'string' && (value === 'memory' || isPostgresUrl(value)),
);

const optionsShape = {
  ...object({ agents: { ...listOf(any), expected: 'a list of agents' } }, {
    workspace: string(),
    store: storeShape,
    models: listOf(modelShape),
    concurrency: object({}, { models: whole(1), tools: whole(1) }),
    config: string(),
    cwd: string(),
    env: mapOf(any),
    preconnect: any,
    offline: any,
    onQuestion: { ...valueOf<never>('a function', (value) => typeof value === 'function') },
    indeterminate: oneOf('continue', 'ask', 'fail'),
    clock: any,
    ids: any,
    stallClock: any,
    defaultAgent: { ...orNull(string()), expected: 'the name of an agent' },
    retention: object({}, Object.fromEntries(Object.keys(retentionDefault).map((name) => [name, most]))),
    keep: keepRulesShape,
    autosaveMs: most,
    serverIdleMs: most,
    parallel: whole(1, 10_000),
  } satisfies Record<keyof Omit<CloisterOptions, 'agents'>, Shape>),
  expected: 'an object of options',
};

/** Throws `options_invalid`. */
export const checkCloisterOptions = (options: CloisterOptions): void =>
  checkShape(optionsShape, options, (text) => new CloisterError('options_invalid', text), 'openCloister');
