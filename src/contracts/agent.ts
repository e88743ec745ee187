import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { Hash, JsonObject } from '#base';
import type { Budget } from './amounts.ts';
import type { GrantName, ShareName } from './crossing.ts';
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
};

export type Settings = {
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
  readonly settings?: Settings;
  readonly budget?: Budget;
  /** What may cross into and out of its cells. Default: goal in, result out. */
  readonly grants?: readonly GrantName[];
  /** What of its caller's window it is given when it is called, once. Default: nothing. */
  readonly share?: readonly ShareName[];
  /** Agents of one group have windows as small as the smallest among them. */
  readonly budgetGroup?: string;
  /** A model that puts old turns into a few words when the window needs room. Default: code does, one line each. */
  readonly compaction?: LanguageModelV4 | Model | string;
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
  readonly settings: Settings;
  readonly budget: Budget;
  readonly grants: readonly GrantName[];
  readonly share: readonly ShareName[];
  readonly budgetGroup: string | null;
  /** Puts its old turns into a few words, in a cell of its own; null: code does. */
  readonly compactor: Agent | null;
  /** The part of the definition that prompts are made of, stored once per run. */
  readonly definition: Definition;
  readonly digest: Hash;
};

/**
 * What a run records of an agent, once. Segments name the first three as their origin; the rest is the policy that a
 * resumed run must find unchanged, and the audit holds every crossing to its grants. `digest` is the SHA-256 of its canonical JSON.
 */
export type Definition = {
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
  readonly limits: Limits;
  readonly settings: Settings;
  readonly budget: Budget;
};

export type ToolSchema = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };
