import type { Json, JsonObject } from '#base';

/** May a crash run it again: always, under the same key, or not at all. */
export type RetrySafety = 'free' | 'keyed' | 'never';

export type ToolOutput =
  | string
  | { readonly type: 'text'; readonly value: string }
  | { readonly type: 'json'; readonly value: Json };

/** An ordinary tool. It knows nothing of cells, operations or other agents. */
export type ToolDefinition = {
  readonly name: string;
  readonly description: string;
  /** Added to the system prompt of the agents that have the tool. */
  readonly instructions?: string;
  /** JSON Schema of the arguments, an object. */
  readonly inputSchema: JsonObject;
  /** Default `never`: after a crash in mid-call the model is told `indeterminate`. */
  readonly repeat?: RetrySafety;
  readonly timeoutMs?: number;
  /**
   * Somebody outside brings the result, in their own time: calls take no slot of those that work. `called` is told of each at
   * once, before any of the calls of the same turn that begin with it is waited for.
   */
  readonly outside?: { called(): void };
  /** `key` is the same on every re-run of the same call: hand it to services that take an idempotency key. */
  execute(
    args: JsonObject,
    context: { readonly signal: AbortSignal; readonly key: string },
  ): Promise<ToolOutput> | ToolOutput;
};

/** Tools that are known only when a session asks: an MCP server's, for one. */
export type ToolSource = {
  /** Letters, digits, dash and underscore: the first part of its tools' names. */
  readonly name: string;
  /** Called once per session at most: what it gives is that session's own, and is closed with it. */
  list(context: { readonly signal: AbortSignal }): Promise<ListedTools>;
};

export type ListedTools = {
  /** By the names that the source has for them; what models see is `<source>__<tool>`. */
  readonly tools: readonly ToolDefinition[];
  /** Never rejects. */
  close?(): Promise<void>;
};

/** Tools of the runtime that an agent names. `read_output` comes by itself. */
export type BuiltinTool = 'read_file' | 'write_file' | 'list_files' | MailTool;

/** Tools that start other agents, and talk to them. */
export type MailTool =
  | 'spawn_agent'
  | 'list_spawned_agents'
  | 'shutdown_agent'
  | 'send_message'
  | 'receive_message'
  | 'subscribe'
  | 'publish'
  | 'receive_broadcast';

/** The settled value of a tool call: what the model is shown, and where the rest lies. */
export type ToolResultValue = {
  readonly text: string;
  /** Set when the output was offloaded: `text` is then its preview. */
  readonly output?: StoredOutput;
};

/** An offloaded output: the name its own cell reads it by, and the bytes' address. */
export type StoredOutput = {
  readonly name: string;
  readonly ref: string;
  readonly bytes: number;
  readonly chars: number;
  /** How many bytes the preview shows at most. */
  readonly shown: number;
};
