// A workload as plain data: drawn from a seed, and the same for every process that runs it.
import type { JsonObject } from '#base';
import type {
  Attachment,
  AgentOptions,
  ApprovalRule,
  Budget,
  BuiltinTool,
  GrantName,
  Limits,
  MailTool,
  OutputFormat,
  Price,
  RetrySafety,
  ModelSettings,
  ShareName,
  Skill,
  TaskSpec,
  TeamOptions,
} from '#contracts';

export type ToolPlan = {
  readonly name: string;
  readonly repeat: RetrySafety;
  readonly inputSchema: JsonObject;
  /** The longest time it takes. */
  readonly msMax: number;
  /** Whether its results are too long to be shown in full. */
  readonly longOutput: boolean;
  /** Its own timeout, if it sets one. */
  readonly timeoutMs?: number;
  /** A person must allow its calls: all of them, or those with some arguments. */
  readonly approve?: 'always' | 'some';
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
  /** The probability that it reports no usage. */
  readonly noUsageRate: number;
  /** The number of pieces in which it sends a text. */
  readonly pieces: number;
  /** Whether it stops when the request is aborted. */
  readonly honoursAbort: boolean;
  /** Whether it takes the schema of an answer with the request. It refuses some requests because of it. */
  readonly structuredOutput: boolean;
};

export type AgentPlan = {
  readonly name: string;
  readonly prompt: string;
  readonly models: readonly ModelPlan[];
  readonly tools: readonly ToolPlan[];
  /** Tools that its definition marks, whatever the tools themselves say, and who may answer; absent: none. */
  readonly approve?: Readonly<Record<string, ApprovalRule>>;
  readonly builtins: readonly BuiltinTool[];
  readonly sources: readonly SourcePlan[];
  readonly agents: readonly AgentPlan[];
  readonly gather: { readonly timeoutMs: number } | null;
  readonly input: NonNullable<AgentOptions['input']>;
  readonly output: OutputFormat;
  readonly limits: Limits;
  readonly settings: ModelSettings;
  readonly grants: readonly GrantName[];
  readonly share: readonly ShareName[];
  readonly skills: readonly Skill[];
  readonly budget: Budget;
  /** Null: it has no mail tools. */
  readonly mail: MailPlan | null;
  /** Set for a team, whose session is a task graph. */
  readonly team: TeamPlan | null;
  /** Its role in a team; null: it is in none. */
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

/** `plans`: whether its first plan is valid, and whether its second one is. */
export type RolePlan =
  | { readonly as: 'member'; readonly mates: readonly string[] }
  | { readonly as: 'coordinator'; readonly members: readonly string[]; readonly plans: readonly [boolean, boolean] };

/** The request to a team, and what it is sent while it works. */
export type TeamRequestPlan = {
  /** Null: the coordinator plans the tasks. */
  readonly tasks: readonly TaskSpec[] | null;
  readonly answer: boolean;
  readonly planOnly: boolean;
  readonly additions: readonly { readonly afterMs: number; readonly tasks: readonly TaskSpec[] }[];
  /** Messages to a member, to an unknown name, or to the team itself, which accepts none; `finish` asks the team to finish. */
  readonly messages: readonly {
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
  /** The agent that its model defines inline, if it does. */
  readonly template: AgentPlan | null;
  readonly graceMs: number;
  readonly onEnd: 'wait' | 'stop';
  readonly waitMs: number;
};

/** A resident: a session that continues until it is asked to finish. */
export type ResidentPlan = {
  /** Whether it has a goal from the start. */
  readonly goal: boolean;
  readonly topics: readonly string[];
  readonly finishAfterMs: number;
  /** How long its person takes for each message; null: nobody listens. */
  readonly listens: number | null;
};

/** A person sends a message to an agent of a run, `times` times in a row, starts an agent under one, or asks one to finish. */
export type SendPlan = {
  readonly afterMs: number;
  readonly what: 'send' | 'publish' | 'finish' | 'spawn';
  /** The root, any live agent, or an unknown one. */
  readonly to: 'root' | 'any' | 'nobody';
  readonly times: number;
  readonly bytes: number;
};

export type RunPlan = {
  readonly goal: string;
  readonly agent: AgentPlan;
  readonly budget: Budget | undefined;
  readonly startsAt: number;
  /** The delay of a reader between two events; `stalls`: it reads nothing before the run has ended; null: no reader. */
  readonly reader: number | 'stalls' | null;
  readonly cancel: CancelPlan | null;
  /** The context at the start, and context that is given later. */
  readonly context: readonly string[];
  readonly gives: readonly { readonly afterMs: number; readonly text: string }[];
  /** The caller's own instructions. */
  readonly system: readonly string[];
  /** Files that come with each request. */
  readonly attachments: readonly Attachment[];
  /** The number of turns of a conversation; 0: it is in none. */
  readonly turns: number;
  readonly resident: ResidentPlan | null;
  readonly sends: readonly SendPlan[];
  /** Null: its agent is not a team. */
  readonly team: TeamRequestPlan | null;
  /** Null: nobody is asked. */
  readonly people: PeoplePlan | null;
  /** What is asked of the run from other processes. */
  readonly signals: readonly SignalPlan[];
};

/**
 * `msMax`: the longest that they take. `elsewhere`: the probability that an answer comes through another process. `slotMs`: the longest
 * that a run that waited for them waits for a slot.
 */
export type PeoplePlan = { readonly msMax: number; readonly elsewhere: number; readonly slotMs: number };

/** `twice`: the sender does not know whether it arrived, and sends the same again. */
export type SignalPlan = {
  readonly afterMs: number;
  readonly what: 'send' | 'cancel' | 'finish';
  readonly twice: boolean;
};

/** The records of a marked call: the question, the answer, its settlement, and the call itself. */
export type QuestionRecord = 'ask' | 'ruling' | 'answered' | 'call';

/** Moments of a signal: it is about to be stored, is stored and not acknowledged, is about to be removed, and is removed. */
export type SignalMoment = 'put signal' | 'signal stored' | 'remove signal' | 'signal removed';

/** Somebody takes a checkpoint, restores or branches from one, or adds a turn to a conversation. */
export type CheckpointActionPlan = {
  readonly afterMs: number;
  readonly what: 'checkpoint' | 'restore' | 'branch' | 'turn';
  /** Whether somebody else does the same at the same time. */
  readonly twice: boolean;
};

/** Steps of deletions and archives. */
export type StorageMoment =
  | 'archive written'
  | 'deleted'
  | 'remove folder of deleted run'
  | 'finish deletions'
  | 'import run'
  | 'imported'
  | 'remove archive';

/**
 * Somebody deletes a run or a conversation, moves a run into an archive or back, moves it out and in again, lets runs expire, or asks for a
 * run again under the id that it had.
 */
export type StorageActionPlan = {
  readonly afterMs: number;
  readonly what: 'delete' | 'archive' | 'restore' | 'move' | 'conversation' | 'expire' | 'again';
  readonly force: boolean;
  readonly withLater: boolean;
  /** Whether somebody else does the same at the same time. */
  readonly twice: boolean;
};

/**
 * Cancels after a time; or during the nth event of a kind, after a number of the promises that it settles; or a number of
 * promises after the nth record of a type was written.
 */
export type CancelPlan =
  | { readonly afterMs: number }
  | { readonly kind: string; readonly nth: number; readonly promises: number }
  | { readonly record: 'begin' | 'settle'; readonly nth: number; readonly promises: number };

export type SeedPlan = {
  readonly runs: readonly RunPlan[];
  /** When a process is closed properly, in the middle of its work; null: never. */
  readonly closesAt: number | null;
  readonly checkpointActions: readonly CheckpointActionPlan[];
  readonly storageActions: readonly StorageActionPlan[];
  /** Null: a run is owned for as long as its process lives. */
  readonly leases: LeasePlan | null;
  readonly lanes: { readonly models?: number; readonly tools?: number };
  readonly faults: FaultPlan;
};

/** How often processes freeze and are cut off from the disk, and how often an acknowledgement comes late. */
export type LeasePlan = { readonly freeze: number; readonly cut: number; readonly late: number };

/** The rates of faults. No fault occurs after `untilMs`. */
export type FaultPlan = {
  readonly untilMs: number;
  /** The most crashes. */
  readonly crashesMax: number;
  /** The probability that a process crashes at one of its calls. */
  readonly crash: number;
  /** Processes that are about to append such a record often crash; null: no more often than before others. */
  readonly crashBefore: QuestionRecord | null;
  /** The same for signals. */
  readonly crashAt: SignalMoment | null;
  /** The same for steps of deletions and archives. */
  readonly crashInStorage: StorageMoment | null;
  readonly model: number;
  readonly tool: number;
  readonly source: number;
  readonly disk: number;
  readonly clock: number;
  /** The probability that a record's messages are delivered a second time, immediately or later. */
  readonly post: number;
  /** The probability that two processes try to resume the same runs. */
  readonly rivals: number;
};
