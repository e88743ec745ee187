import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Hash, Json, JsonObject } from '#base';
import type { Budget } from './amounts.ts';
import type { ApprovalMarks, ApprovalRule } from './approval.ts';
import type { GrantName, ShareName } from './crossing.ts';
import type { SpawnRules, TopicRules } from './mail.ts';
import type { Skill, SkillDigest } from './skill.ts';
import type { TeamRules } from './team.ts';
import type { Model } from './model.ts';
import type { InputOf, Schema } from './schema.ts';
import type { AiTools, BuiltinTool, CallableTool, NamedSource, ToolItem, ToolSchema } from './tool.ts';

/**
 * Fixed caps on a session. Exceeding `mailTimeout` or a snake_case limit ends the session with `limit`; child cells have defaults
 * for those, root cells have none.
 */
export type Limits = {
  /** Tool calls in total. Default: 20 for a child, otherwise no limit. */
  readonly max_steps?: number;
  /** Tokens of one tool result that the model is shown; the rest is stored. Default: 2,000 for a child, otherwise 4,000. */
  readonly max_tokens_per_step?: number;
  /** Files that it may write. Default: 10 for a child, otherwise no limit. */
  readonly max_output_files?: number;
  /** Bytes that it may write in total. Default: 1,000,000 for a child, otherwise no limit. */
  readonly max_output_size_bytes?: number;
  /** Working time of the whole session, without waiting for others. Default: 10 minutes for a child, otherwise no limit. */
  readonly timeout_ms?: number;
  /** Turns with tool calls before it must answer. Default: 10. */
  readonly maxToolTurns?: number;
  /** Milliseconds for one model request. Default: 120,000. */
  readonly llmTimeout?: number;
  /** Milliseconds for one tool call. Default: 60,000. */
  readonly toolTimeout?: number;
  /** How long an agent whose answer somebody waits for may wait for messages, in total. */
  readonly mailTimeout?: number;
  /** How long a question to a person waits; then it counts as denied. Default: 24 hours. */
  readonly questionTimeout?: number;
  /** Retries of a failed model request. Default: 2. */
  readonly maxRetries?: number;
  /** Tool calls in one turn; further ones are refused. Default: 50. */
  readonly maxToolCallsPerTurn?: number;
  /** Tool calls at the same time. Default: 4. */
  readonly parallelToolCalls?: number;
  /** Output tokens of one request. Default: what the model allows; 8,192 if that is unknown; less under a small budget. */
  readonly maxOutputTokens?: number;
  /** Size of the context window in tokens, with room for the answer. Default: that of the model; 128,000 if it is unknown. */
  readonly contextTokensMax?: number;
  /** How often it may write in reply to the same agent, within one chain of messages, before that counts as a loop. */
  readonly maxHops?: number;
  /** How often it may reply to the same agent in one minute. */
  readonly answersPerMinute?: number;
};

/** Limits as code may write them: `max_steps` or `maxSteps`, times in milliseconds or as text such as `30s`. */
export type LimitOptions = {
  readonly [K in Exclude<keyof Limits, 'parallelToolCalls'> as K | CamelCase<K> | SnakeCase<K>]?: number | Duration;
} & { readonly [K in 'parallelToolCalls' | 'parallel_tool_calls']?: number | boolean } & {
  readonly [K in 'maxTurns' | 'max_turns' | 'toolResponseMaxBytes' | 'tool_response_max_bytes']?: number;
};

/** A time such as `500ms`, `30s`, `5m` or `2h`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h'}`;

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;
type SnakeCase<Name extends string> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeCase<Rest>}`
  : Name;

type OneOrMore<T> = T | readonly T[];

/** Settings that are sent with each request, where the provider has them. */
export type ModelSettings = {
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
};

/** What callers send: text, or an object that fits the schema. */
export type InputFormat = { readonly format: 'text' | 'json'; readonly schema?: JsonObject };
/** What it answers: text, Markdown, or JSON that fits the schema. */
export type OutputFormat = { readonly format: 'text' | 'markdown' | 'json'; readonly schema?: JsonObject };

/** The options of `defineAgent`. The schemas give the types of its input and of `outcome.data`. */
export type AgentOptions<In extends Schema = Schema, Out extends Schema = Schema> = AnyFormats<In, Out> & {
  /** Letters, digits, dots, dashes and underscores. It names the agent in `run`, in reports, and as a tool. */
  readonly name: string;
  /** What it does: callers and other agents' models choose it by this. */
  readonly description: string;
  /** Example input, for people. */
  readonly usage?: string;
  /** The system prompt: the agent's role and instructions. */
  readonly prompt: string;
  /** In fallback order: objects, or `<provider>/<model>` as defined in the operator's config. */
  readonly models?: readonly (LanguageModelV4 | Model | string)[];
  /** Objects, AI SDK tools by name, built-in tools, or `<server>` and `<server>/<tool>` as defined in the operator's config. */
  readonly tools?: readonly ToolItem[];
  /** Instructions and files that it reads when it needs them, with `read_skill`; `loadSkills` reads them from a folder. */
  readonly skills?: readonly Skill[];
  /** Sub-agents, each offered to the model as a tool. */
  readonly agents?: readonly Agent[];
  /** Adds a `gather` tool that calls several sub-agents in parallel and merges their findings. */
  readonly gather?: { readonly timeoutMs: number };
  /** Name of the agent as a tool, for MCP clients, events and reports. Models see `_` in place of dots. Default: the agent's name. */
  readonly toolName?: string;
  /** Hint to the model: how many agents to call in parallel. */
  readonly agentsAtOnce?: number;
  /** Prompt caching, for providers that make it optional. */
  readonly caching?: 'full' | 'none';
  /** Caps on each of its sessions. */
  readonly limits?: Limits;
  /** Temperature, reasoning and the like. */
  readonly settings?: ModelSettings;
  /** The most that one call of it may spend, with everything below it. */
  readonly budget?: Budget;
  /** What may cross into and out of its cells. Default: goal in, result out. */
  readonly grants?: readonly GrantName[];
  /** Parts of its caller's context it is given, once, when it is called. Default: nothing. */
  readonly share?: readonly ShareName[];
  /** Agents in the same group all use the group's smallest context window. */
  readonly budgetGroup?: string;
  /** Which agents it may spawn, and how many. Needs the tool `spawn_agent`. */
  readonly spawns?: SpawnOptions;
  /** Agents it may exchange messages with, provided they list it too: `parent`, `children`, `siblings`, or agent names. Default: parent and children. */
  readonly messages?: readonly string[];
  /** Topics it may subscribe to (`hear`) and publish on (`say`); a plain list allows both. */
  readonly topics?: readonly string[] | { readonly hear?: readonly string[]; readonly say?: readonly string[] };
  /**
   * Tools that a person must allow, each time: names as in `tools`, `<server>/<tool>` of a server that it has, or sub-agents. As an
   * object, with who may answer: `{ 'mail/send': { by: ['ops'], need: 2 }, write_file: {} }`.
   */
  readonly approve?: readonly string[] | Readonly<Record<string, ApprovalRule>>;
  /** Whether it may ask a person. Default: false. */
  readonly asks?: boolean;
  /** Model that summarises old turns when the context fills up. Default: code shortens each to one line. */
  readonly compaction?: LanguageModelV4 | Model | string;
};

type AnyFormats<In extends Schema = Schema, Out extends Schema = Schema> = {
  /** With `json`, callers send an object that matches the schema instead of text. */
  readonly input?: Pick<InputFormat, 'format'> & { readonly schema?: In };
  /** With `json`, the answer fits the schema, and `outcome.data` has its type. Default: text. */
  readonly output?: Pick<OutputFormat, 'format'> & { readonly schema?: Out };
};

/** The options of `defineAgent` with the short forms of agent files. */
export type AgentShortForms<In extends Schema = Schema, Out extends Schema = Schema> = LimitOptions &
  ModelSettings &
  Omit<AgentOptions, keyof ShortForms | keyof AnyFormats> &
  ShortForms &
  AnyFormats<In, Out>;

type ShortForms = {
  readonly models?: OneOrMore<LanguageModelV4 | Model | string>;
  readonly tools?: readonly ToolItem[] | Exclude<ToolItem, AiTools> | null;
  readonly skills?: OneOrMore<Skill> | null;
  readonly agents?: OneOrMore<Agent> | null;
  /** The timeout of the slowest one. */
  readonly gather?: number | Duration | { readonly timeoutMs: number } | { readonly timeout: number | Duration };
  readonly limits?: LimitOptions;
  readonly grants?: OneOrMore<GrantName>;
  readonly share?: OneOrMore<ShareName>;
  /** Agents, names of its sub-agents or of agents that the Cloister has too, or `self`. */
  readonly spawns?: OneOrMore<Agent | string> | SpawnShortForms;
  readonly messages?: OneOrMore<string>;
  readonly topics?: OneOrMore<string> | { readonly hear?: readonly string[]; readonly say?: readonly string[] };
  readonly approve?: OneOrMore<string> | Readonly<Record<string, ApprovalRule>>;
};

type SpawnShortForms = Omit<SpawnOptions, 'agents'> & {
  readonly agents?: OneOrMore<Agent | string>;
  readonly grace?: number | Duration;
  readonly wait?: number | Duration;
  readonly on_end?: 'wait' | 'stop';
};

/** Numbers cannot exceed the operator's limits; defaults: 10 live children, 5 spawns per minute, 3 levels. */
export type SpawnOptions = {
  /** Agents, names of agents that the Cloister has too, or `self` for another instance of this agent. */
  readonly agents?: readonly (Agent | string)[];
  /** How many of them may be alive at a time. */
  readonly children?: number;
  /** How many may be started within a minute. */
  readonly perMinute?: number;
  /** How many levels of agents there may be below the root. */
  readonly depth?: number;
  /** Parts of its own context it may pass to them. */
  readonly share?: readonly ShareName[];
  /** Whether it may define new agents in the call itself, with some of its own tools. */
  readonly templates?: boolean | { readonly tools?: readonly string[] };
  /** How many instances of each agent to pre-warm. */
  readonly pool?: Readonly<Record<string, number>>;
  /** How long children may take to finish after a shutdown request. */
  readonly graceMs?: number;
  /** What happens to children that still work after its last answer: it waits for them (the default), or they are stopped. */
  readonly onEnd?: 'wait' | 'stop';
  /** How long it waits for them at most. Default: 10 minutes. */
  readonly waitMs?: number;
};

/** A validated, frozen definition, in groups by who reads them. Only `defineAgent` creates one. */
export type Agent<Input = unknown, Data = unknown> = {
  /** Never set: it carries the types of its input and of its JSON answer. */
  readonly '~types'?: { readonly input: Input; readonly data: Data };
  /** Its name, unique among the agents of a Cloister. */
  readonly name: string;
  /** What it does, for callers. */
  readonly description: string;
  /** Example input, for people. */
  readonly usage: string;
  /** The file it was read from; null if it was defined in code. */
  readonly file: string | null;
  /** The system prompt, as written. */
  readonly prompt: string;
  /** Who wrote the prompt. Absent: the operator, in a file or in code. */
  readonly promptBy?: 'model';
  /** How it is called, and what it answers. */
  readonly signature: AgentSignature;
  /** Its models and tools. */
  readonly resources: AgentNeeds;
  /** Its limits and its budget. */
  readonly caps: AgentCaps;
  /** The agents that it may start. */
  readonly children: AgentChildren;
  /** What may cross, whom it may write to, and what a person must allow. */
  readonly permissions: AgentPermissions;
  /** Set for a team, whose session works through a task graph. Null: its session is a series of model turns. */
  readonly team: AgentTeam | null;
  /** The part of the definition that a run records, once. */
  readonly definition: AgentDefinition;
  /** SHA-256 of that part: two agents with the same digest behave alike. */
  readonly digest: Hash;
};

/** What callers may give to an agent: text, or an object of this type. */
export type AgentInput<A extends Agent> =
  | string
  | (unknown extends TypesOf<A>['input'] ? JsonObject : TypesOf<A>['input']);

/** The type of a JSON answer: that of the schema of the request, or else of the agent. */
export type AgentData<A extends Agent, S extends Schema = never> = KnownData<
  [S] extends [never] ? TypesOf<A>['data'] : InputOf<S>
>;

type KnownData<Data> = unknown extends Data ? Json : Data;
type TypesOf<A extends Agent> = NonNullable<A['~types']>;

/** How it is called, and what it answers: for callers, models and clients. */
export type AgentSignature = {
  /** Its name as a tool, as written. */
  readonly toolName: string;
  /** The same as models see it, without the characters that providers do not allow. */
  readonly modelToolName: string;
  readonly input: InputFormat;
  readonly output: OutputFormat;
};

/** The models and tools that its sessions use. What is only named is resolved in the operator's config, for each session. */
export type AgentNeeds = {
  readonly models: readonly (Model | string)[];
  readonly caching: 'full' | 'none';
  readonly settings: ModelSettings;
  readonly tools: readonly CallableTool[];
  readonly builtins: readonly BuiltinTool[];
  readonly sources: readonly NamedSource[];
  /** `<server>` or `<server>/<tool>`. */
  readonly servers: readonly string[];
  readonly skills: readonly Skill[];
  /** Names of the tools that came with one request. Agents it starts do not get them. Absent: there are none. */
  readonly given?: readonly string[];
  /** It can receive texts that are too long to show whole, and can page through them with `read_output`. */
  readonly canReadOutput: boolean;
};

/** How much it may use, and how much those that it starts. */
export type AgentCaps = {
  readonly limits: Limits;
  /** Agents that it spawns have at most this much: what its file or code sets, and what it inherited itself. Defaults are not inherited. */
  readonly inheritable: Limits;
  /** The deepest level at which it may start agents; the root is at level 0. */
  readonly depth: number;
  readonly budget: Budget;
  readonly budgetGroup: string | null;
};

/** The agents that it may start, apart from those of a team. */
type AgentChildren = {
  /** Sub-agents, each a tool of the model. */
  readonly agents: readonly Agent[];
  readonly gather: { readonly timeoutMs: number } | null;
  readonly agentsAtOnce: number | null;
  /** Null: it cannot spawn. */
  readonly spawns: SpawnRules | null;
  /** The agents it may spawn. */
  readonly spawnable: readonly Agent[];
  /** Summarises its old turns, in a cell of its own. Null: code shortens them. */
  readonly compactor: Agent | null;
};

/** What may cross into and out of its cells, whom it may write to, and what a person must allow. */
export type AgentPermissions = {
  readonly grants: readonly GrantName[];
  readonly share: readonly ShareName[];
  /** Null: no mail unless it is spawned, and then only with its parent and children. */
  readonly messages: readonly string[] | null;
  readonly topics: TopicRules;
  /**
   * The marks that its file, its code and the operator's config give it, for tools that it does not have as well. Those in force, with
   * the marks that its tools bring, are in `definition.approve`.
   */
  readonly approve: ApprovalMarks;
  /** It may ask a person. */
  readonly asks: boolean;
};

/** The members of a team, and how it works. */
export type AgentTeam = {
  readonly rules: TeamRules;
  /** The agents that work on tasks. */
  readonly members: readonly Agent[];
  /** The agents that plan and answer. Null: it has no coordinator. */
  readonly coordinator: { readonly plans: Agent; readonly answers: Agent } | null;
};

/**
 * What a run records of an agent, once. Segments refer to the first three fields as their origin. The rest is policy: it must be
 * unchanged when a run is resumed, and the audit checks every crossing against its grants. `digest` is the SHA-256 of its canonical JSON.
 */
export type AgentDefinition = {
  readonly prompt: string;
  /** Who wrote the prompt. Absent: the operator. What a model wrote is never another cell's system text. */
  readonly promptBy?: 'model';
  readonly guidance: string;
  readonly tools: readonly ToolSchema[];
  /** Names of the sources whose tools are listed when a session starts. */
  readonly sources: readonly string[];
  /** Absent: it has no skills. */
  readonly skills?: readonly SkillDigest[];
  readonly input: InputFormat;
  readonly output: OutputFormat;
  readonly grants: readonly GrantName[];
  /** Absent: its caller shares nothing with it. */
  readonly share?: readonly ShareName[];
  readonly budgetGroup?: string;
  /** The definition of its compactor, if it has one. */
  readonly compactor?: Hash;
  /** Absent: it cannot spawn. */
  readonly spawns?: SpawnRules;
  /** Absent: its parent and children. */
  readonly messages?: readonly string[];
  readonly topics?: TopicRules;
  /** Absent: it is not a team. */
  readonly team?: TeamRules;
  /** Names of the tools that came with the request. Absent: there are none. */
  readonly given?: readonly string[];
  /** Those of them whose calls the client makes, and how long it may take for one, in milliseconds. Absent: there are none. */
  readonly client?: Readonly<Record<string, number>>;
  /** Tools that a person must allow, sorted by name. Absent: none. Sources may mark more when they list their tools. */
  readonly approve?: ApprovalMarks;
  /** It may ask a person. Absent: it may not. */
  readonly asks?: true;
  readonly limits: Limits;
  /** Absent: the same as `limits`. */
  readonly inheritable?: Limits;
  /** Absent: 3 levels. */
  readonly depth?: number;
  readonly settings: ModelSettings;
  readonly budget: Budget;
};
