import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Hash, JsonObject } from '#base';
import type { Budget } from './amounts.ts';
import type { GrantName, ShareName } from './crossing.ts';
import type { SpawnRules, TopicRules } from './mail.ts';
import type { TeamRules } from './team.ts';
import type { Model } from './model.ts';
import type { BuiltinTool, ToolDefinition, ToolSource } from './tool.ts';

/** Fixed caps of a session. The snake-case ones end it with `limit`; child cells have defaults for them, root cells none. */
export type Limits = {
  readonly max_steps?: number;
  readonly max_tokens_per_step?: number;
  readonly max_output_files?: number;
  readonly max_output_size_bytes?: number;
  readonly timeout_ms?: number;
  readonly maxToolTurns?: number;
  readonly llmTimeout?: number;
  readonly toolTimeout?: number;
  readonly maxRetries?: number;
  readonly maxToolCallsPerTurn?: number;
  readonly parallelToolCalls?: number;
  readonly maxOutputTokens?: number;
  readonly contextTokensMax?: number;
  /** How many messages may lead to one another before it counts as a loop. */
  readonly maxHops?: number;
  /** How often it may answer one and the same agent in a minute. */
  readonly answersPerMinute?: number;
};

export type ModelSettings = {
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly reasoning?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
};

export type InputFormat = { readonly format: 'text' | 'json'; readonly schema?: JsonObject };
export type OutputFormat = { readonly format: 'text' | 'markdown' | 'json'; readonly schema?: JsonObject };

/** What `defineAgent` takes. */
export type AgentOptions = {
  readonly name: string;
  readonly description: string;
  /** An example of what to ask it, for people. */
  readonly usage?: string;
  /** The agent's role and instructions: its system prompt. */
  readonly prompt: string;
  /** Objects, or `<provider>/<model>` as the operator's config defines them. Tried in this order. */
  readonly models?: readonly (LanguageModelV4 | Model | string)[];
  /** Objects, tools of the runtime, or `<server>` and `<server>/<tool>` as the operator's config defines them. */
  readonly tools?: readonly (ToolDefinition | ToolSource | BuiltinTool | (string & {}))[];
  /** Sub-agents, each offered to this agent's model as a tool. */
  readonly agents?: readonly Agent[];
  /** Offer one tool, `gather`, that asks several sub-agents at once and merges what they find. */
  readonly gather?: { readonly timeoutMs: number };
  /** The name a parent's model calls it by; the agent's name unless given. */
  readonly toolName?: string;
  /** `json`: its callers send an object that fits the schema instead of text. */
  readonly input?: InputFormat;
  readonly output?: OutputFormat;
  /** A hint to the model: at most so many agents at once, unless there is a reason. */
  readonly agentsAtOnce?: number;
  /** Ask providers that let one choose to keep the prompt in their cache. */
  readonly caching?: 'full' | 'none';
  readonly limits?: Limits;
  readonly settings?: ModelSettings;
  readonly budget?: Budget;
  /** What may cross into and out of its cells. Default: goal in, result out. */
  readonly grants?: readonly GrantName[];
  /** What of its caller's window it is given when it is called, once. Default: nothing. */
  readonly share?: readonly ShareName[];
  /** Agents of one group have windows as small as the smallest among them. */
  readonly budgetGroup?: string;
  /** Which agents it may spawn, and how many: needs the tool `spawn_agent`. */
  readonly spawns?: SpawnOptions;
  /** Whom it may exchange messages with, if they name it too: `parent`, `children`, `siblings`, agents by name. Default: parent and children. */
  readonly messages?: readonly string[];
  /** Topics that it may hear and publish on. */
  readonly topics?: readonly string[] | { readonly hear?: readonly string[]; readonly say?: readonly string[] };
  /** A model that puts old turns into a few words when the window needs room. Default: code does, one line each. */
  readonly compaction?: LanguageModelV4 | Model | string;
};

/** Numbers are at most the operator's: 10 living children, 5 spawns a minute, 3 levels. */
export type SpawnOptions = {
  /** Agents, or `self` for another one of its own kind. */
  readonly agents?: readonly (Agent | 'self')[];
  readonly children?: number;
  readonly perMinute?: number;
  readonly depth?: number;
  /** What of its own window it may hand to them. */
  readonly share?: readonly ShareName[];
  /** It may describe agents in the call itself, with some of its own tools. */
  readonly templates?: boolean | { readonly tools?: readonly string[] };
  /** So many of an agent are made ready before there is something to do. */
  readonly pool?: Readonly<Record<string, number>>;
  /** How long children may take to come to an end when they are asked to. */
  readonly graceMs?: number;
};

/** A validated, frozen definition. Only `defineAgent` makes one. */
export type Agent = {
  readonly name: string;
  readonly description: string;
  readonly usage: string;
  readonly prompt: string;
  readonly models: readonly (Model | string)[];
  readonly tools: readonly ToolDefinition[];
  readonly builtins: readonly BuiltinTool[];
  readonly sources: readonly ToolSource[];
  /** `<server>` or `<server>/<tool>`, looked up in the operator's config for each session. */
  readonly servers: readonly string[];
  readonly agents: readonly Agent[];
  readonly gather: { readonly timeoutMs: number } | null;
  readonly toolName: string;
  readonly input: InputFormat;
  readonly output: OutputFormat;
  readonly agentsAtOnce: number | null;
  readonly caching: 'full' | 'none';
  /** The file it was read from; null when it was made in code. */
  readonly file: string | null;
  readonly limits: Limits;
  readonly settings: ModelSettings;
  readonly budget: Budget;
  readonly grants: readonly GrantName[];
  readonly share: readonly ShareName[];
  readonly budgetGroup: string | null;
  /** Puts its old turns into a few words, in a cell of its own; null: code does. */
  readonly compactor: Agent | null;
  /** Null: it spawns nobody. */
  readonly spawns: SpawnRules | null;
  /** Those that it may spawn. */
  readonly spawnable: readonly Agent[];
  /** Null: no mail, unless it is spawned; then its parent and its children. */
  readonly messages: readonly string[] | null;
  readonly topics: TopicRules;
  /** It is handed texts that may be too long to show, and can read on in them. */
  readonly readsOn: boolean;
  /** Null: its session is turns of a model; else it is a team, whose session is a graph of tasks. */
  readonly team: TeamRules | null;
  /** Of a team: those who work on tasks, and, if there is one, who plans and who answers. */
  readonly members: readonly Agent[];
  readonly coordinator: { readonly plans: Agent; readonly answers: Agent } | null;
  /** Names of its tools that came with one request: whom it starts does not get them. Absent: all are its own. */
  readonly given?: readonly string[];
  /** The part of the definition that prompts are made of, stored once per run. */
  readonly definition: AgentDefinition;
  readonly digest: Hash;
};

/**
 * What a run records of an agent, once. Segments name the first three as their origin; the rest is the policy that a
 * resumed run must find unchanged, and the audit holds every crossing to its grants. `digest` is the SHA-256 of its canonical JSON.
 */
export type AgentDefinition = {
  readonly prompt: string;
  readonly guidance: string;
  readonly tools: readonly ToolSchema[];
  /** Names of the sources whose tools are listed when a session starts. */
  readonly sources: readonly string[];
  readonly input: InputFormat;
  readonly output: OutputFormat;
  readonly grants: readonly GrantName[];
  /** Absent when it is given nothing of its caller's. */
  readonly share?: readonly ShareName[];
  readonly budgetGroup?: string;
  /** The definition of its compactor, if it has one. */
  readonly compactor?: Hash;
  /** Absent when it spawns nobody. */
  readonly spawns?: SpawnRules;
  /** Absent: its parent and its children. */
  readonly messages?: readonly string[];
  readonly topics?: TopicRules;
  /** Absent when it is no team. */
  readonly team?: TeamRules;
  /** Names of the tools that came with the request; absent when none did. */
  readonly given?: readonly string[];
  readonly limits: Limits;
  readonly settings: ModelSettings;
  readonly budget: Budget;
};

export type ToolSchema = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };
