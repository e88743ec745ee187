// A workload as plain data: made of a seed, and the same for every process that runs it.
import type { JsonObject } from '#base';
import type {
  Budget,
  BuiltinTool,
  GrantName,
  InputFormat,
  Limits,
  MailTool,
  OutputFormat,
  Price,
  RetrySafety,
  ModelSettings,
  ShareName,
  TaskSpec,
  TeamOptions,
} from '#contracts';

export type ToolPlan = {
  readonly name: string;
  readonly repeat: RetrySafety;
  readonly inputSchema: JsonObject;
  /** How long it takes at most. */
  readonly msMax: number;
  /** Whether its answers are too long to be shown. */
  readonly long: boolean;
  /** Whether it says so when it fails. */
  readonly timeoutMs?: number;
};

export type SourcePlan = { readonly name: string; readonly tools: readonly ToolPlan[] };

export type ModelPlan = {
  readonly id: string;
  readonly price: Price | undefined;
  readonly contextTokens: number | undefined;
  readonly maxOutputTokens: number | undefined;
  readonly msMax: number;
  /** Tokens per byte. */
  readonly density: number;
  /** How often it does not say what it used. */
  readonly silence: number;
  /** In how many pieces it sends a text. */
  readonly pieces: number;
  /** Whether it stops working when it is told to. */
  readonly heedsAbort: boolean;
};

export type AgentPlan = {
  readonly name: string;
  readonly prompt: string;
  readonly models: readonly ModelPlan[];
  readonly tools: readonly ToolPlan[];
  readonly builtins: readonly BuiltinTool[];
  readonly sources: readonly SourcePlan[];
  readonly agents: readonly AgentPlan[];
  readonly gather: { readonly timeoutMs: number } | null;
  readonly input: InputFormat;
  readonly output: OutputFormat;
  readonly limits: Limits;
  readonly settings: ModelSettings;
  readonly grants: readonly GrantName[];
  readonly share: readonly ShareName[];
  readonly budget: Budget;
  /** Null: it takes no part in mail. */
  readonly mail: MailPlan | null;
  /** Of a team: its session is a graph of tasks. */
  readonly team: TeamPlan | null;
  /** What it is in a team; null: it is in none. */
  readonly role: RolePlan | null;
};

export type TeamPlan = {
  readonly members: readonly AgentPlan[];
  readonly coordinator: AgentPlan | null;
  readonly rules: Required<
    Pick<
      TeamOptions,
      'parallel' | 'capacity' | 'memoryScope' | 'planMayAskForAll' | 'retries' | 'backOffMs' | 'messages' | 'plan'
    >
  >;
};

/** `plans`: whether its first plan can be used, and whether its second one can. */
export type RolePlan =
  | { readonly as: 'member'; readonly mates: readonly string[] }
  | { readonly as: 'coordinator'; readonly members: readonly string[]; readonly plans: readonly [boolean, boolean] };

/** What a team is asked for, and what it is told while it works. */
export type TeamAsk = {
  /** Null: its coordinator plans. */
  readonly tasks: readonly TaskSpec[] | null;
  readonly answer: boolean;
  readonly planOnly: boolean;
  readonly adds: readonly { readonly afterMs: number; readonly tasks: readonly TaskSpec[] }[];
  /** To a member; to nobody in it; `team`: to the team itself, which takes no words; `finish`: to come to an end. */
  readonly words: readonly {
    readonly afterMs: number;
    readonly to: string;
    readonly what: 'member' | 'nobody' | 'team' | 'finish';
  }[];
};

export type MailPlan = {
  readonly tools: readonly MailTool[];
  readonly spawns: SpawnPlan | null;
  readonly messages: readonly string[];
  readonly hear: readonly string[];
  readonly say: readonly string[];
};

export type SpawnPlan = {
  readonly agents: readonly AgentPlan[];
  readonly self: boolean;
  readonly children: number;
  readonly perMinute: number;
  readonly depth: number;
  readonly share: readonly ShareName[];
  /** The one that its model describes when it describes one. */
  readonly template: AgentPlan | null;
  readonly graceMs: number;
};

/** A session that lives on until somebody asks it to finish. */
export type ResidentPlan = {
  /** Whether it has something to do from the start. */
  readonly goal: boolean;
  readonly topics: readonly string[];
  readonly finishAfterMs: number;
};

/** Somebody outside writes to an agent of a run, so often at once, or asks one to finish. */
export type SendPlan = {
  readonly afterMs: number;
  readonly what: 'send' | 'publish' | 'finish';
  /** To its root, to any that is there, or to one that is not. */
  readonly to: 'root' | 'any' | 'nobody';
  readonly times: number;
  readonly bytes: number;
};

export type RunPlan = {
  readonly goal: string;
  readonly agent: AgentPlan;
  readonly budget: Budget | undefined;
  readonly startsAt: number;
  /** Whether somebody reads its events as they come, and how slowly; `stalls`: not before the run has ended. */
  readonly reader: number | 'stalls' | null;
  readonly cancel: CancelPlan | null;
  /** What it is told when it begins, and when it is told more: so long after that. */
  readonly context: readonly string[];
  readonly gives: readonly { readonly afterMs: number; readonly text: string }[];
  /** How many turns of a conversation it is, one after the other; 0: it is of none. */
  readonly turns: number;
  readonly resident: ResidentPlan | null;
  readonly sends: readonly SendPlan[];
  /** Null: its agent is no team. */
  readonly team: TeamAsk | null;
};

/** Somebody takes a checkpoint of a run, goes back to one, branches off from one, or says more in a conversation. */
export type KeepingPlan = {
  readonly afterMs: number;
  readonly what: 'checkpoint' | 'restore' | 'branch' | 'turn';
  /** Whether somebody else wants the same at the same time. */
  readonly twice: boolean;
};

/**
 * After so long; or in the midst of an event of a kind, the n-th of them, after so many of the promises that it settles; or
 * so soon after the n-th record of a type was written.
 */
export type CancelPlan =
  | { readonly afterMs: number }
  | { readonly kind: string; readonly nth: number; readonly promises: number }
  | { readonly record: 'begin' | 'settle'; readonly nth: number; readonly promises: number };

export type SeedPlan = {
  readonly runs: readonly RunPlan[];
  /** When one process is closed in order, in the middle of it all. */
  readonly closesAt: number | null;
  readonly keeping: readonly KeepingPlan[];
  readonly lanes: { readonly models?: number; readonly tools?: number };
  readonly faults: FaultPlan;
};

/** How rough the world is. All of it ends at `untilMs`. */
export type FaultPlan = {
  readonly untilMs: number;
  /** How many processes die at most. */
  readonly crashesMax: number;
  /** How likely a process is to die at one of its calls. */
  readonly crash: number;
  readonly model: number;
  readonly tool: number;
  readonly source: number;
  readonly disk: number;
  readonly clock: number;
  /** How likely what a record brings to a mailbox is brought there a second time, at once or later. */
  readonly post: number;
  /** How likely two processes go on with the same runs. */
  readonly rivals: number;
};
