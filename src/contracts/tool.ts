import type { Json, JsonObject } from '#base';
import type { ArgsOf, Schema } from './schema.ts';

/** Whether a tool call may be retried after a crash: always, with the same key, or never. */
export type RetrySafety = 'free' | 'keyed' | 'never';

export type ToolOutput =
  | Json
  /** `mediaType`, such as `text/html`, decides the extension of the file if the text is too long to show. */
  | { readonly type: 'text'; readonly value: string; readonly mediaType?: string }
  | { readonly type: 'json'; readonly value: Json };

/** A tool. It knows nothing about cells, operations or other agents. */
export type ToolDefinition = {
  readonly name: string;
  /** What the model is told about it. */
  readonly description?: string;
  /** Added to the system prompt of the agents that have the tool. */
  readonly instructions?: string;
  /** The schema of the arguments, an object. Arguments that do not fit are refused before `execute` is called. */
  readonly inputSchema: Schema;
  /** Default: `never`, and after a crash during a call the model gets `indeterminate`. */
  readonly repeat?: RetrySafety;
  readonly timeoutMs?: number;
  /**
   * Set if the result comes from outside, at any time, so that calls occupy no slot. `called` is invoked immediately for each
   * call, before any call that begins in the same turn is awaited.
   */
  readonly outside?: { called(): void };
  /** `key` is the same on every retry of the same call; pass it to services that accept an idempotency key. */
  execute(
    args: JsonObject,
    context: { readonly signal: AbortSignal; readonly key: string },
  ): Promise<ToolOutput> | ToolOutput;
};

/** The options of `defineTool`: a tool whose `execute` has the types of its schema. */
export type ToolOptions<S extends Schema = Schema> = Omit<ToolDefinition, 'inputSchema' | 'execute'> & {
  readonly inputSchema: S;
  /** `args`: what the schema's own library makes of the arguments, with its defaults and transforms. */
  execute(
    args: ArgsOf<S>,
    context: { readonly signal: AbortSignal; readonly key: string },
  ): Promise<ToolOutput> | ToolOutput;
};

/** What a model is shown of a tool, and a run records. */
export type ToolSchema = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };

/** A tool that is ready to be called: its schema is JSON Schema, and `execute` takes JSON. */
export type CallableTool = ToolDefinition & ToolSchema;

/** Provides tools when a session starts, for example an MCP server. */
export type ToolSource = {
  /** Letters, digits, dashes and underscores; the first part of its tools' names. */
  readonly name: string;
  /** Called at most once per session. The result belongs to that session and is closed with it. */
  list(context: { readonly signal: AbortSignal }): Promise<ListedTools>;
};

export type ListedTools = {
  /** Under the source's own names; models see `<source>__<tool>`. */
  readonly tools: readonly ToolDefinition[];
  /** Never rejects. */
  close?(): Promise<void>;
};

/** Built-in tools that an agent can list. `read_output` is added automatically. */
export type BuiltinTool = 'read_file' | 'write_file' | 'list_files' | MailTool;

/** Tools that start other agents and exchange messages with them. */
export type MailTool =
  | 'spawn_agent'
  | 'list_spawned_agents'
  | 'shutdown_agent'
  | 'send_message'
  | 'receive_message'
  | 'subscribe'
  | 'publish'
  | 'receive_broadcast';

/** The settled value of a tool call: what the model is shown, and where the rest is stored. */
export type ToolResultValue = {
  readonly text: string;
  /** Set if the output was offloaded; `text` is then its preview. */
  readonly output?: StoredOutput;
};

/** An offloaded output: the name by which its own cell reads it, and the address of the bytes. */
export type StoredOutput = {
  readonly name: string;
  readonly ref: string;
  readonly bytes: number;
  readonly chars: number;
  /** The most bytes that the preview shows. */
  readonly shown: number;
};
