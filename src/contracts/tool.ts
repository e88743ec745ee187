import type { Json, JsonObject, StandardSchema } from '#base';
import type { ArgsOf, Schema } from './schema.ts';

/** Whether a tool call may be retried after a crash: always, with the same key, or never. */
export type RetrySafety = 'free' | 'keyed' | 'never';

/**
 * What happens to a call that must not be repeated and was in flight during a crash. `continue`: the model is told that its outcome is
 * unknown. `ask`: a person is asked first whether to call again. `fail`: the agent that made the call ends as failed.
 */
export type IndeterminatePolicy = 'continue' | 'ask' | 'fail';

/** What a tool returns: text, or any JSON. The long forms say which one it is. */
export type ToolOutput =
  | Json
  /** `mediaType`, such as `text/html`, decides the extension of the file if the text is too long to show. */
  | { readonly type: 'text'; readonly value: string; readonly mediaType?: string }
  | { readonly type: 'json'; readonly value: Json };

/** A tool. It knows nothing about cells, operations or other agents. */
export type ToolDefinition = {
  /** As the model calls it: letters, digits, dots, dashes and underscores. */
  readonly name: string;
  /** What the model is told about it. */
  readonly description?: string;
  /** Added to the system prompt of the agents that have the tool. */
  readonly instructions?: string;
  /** The schema of the arguments, an object. Arguments that do not fit are refused before `execute` is called. */
  readonly inputSchema: Schema;
  /** Default: `never`; after a crash during a call, the operator's `IndeterminatePolicy` decides. */
  readonly repeat?: RetrySafety;
  /** Time for one call. Default: `toolTimeout` of the agent. */
  readonly timeoutMs?: number;
  /**
   * Whether a person must allow each call before it runs. A function decides by the arguments; it returns at once, and whatever it does
   * but return false (a promise, an exception) asks. For a tool of a source, a function means every call: the source may be closed.
   */
  readonly approve?: true | ((args: JsonObject) => boolean);
  /**
   * Only for a tool that comes with a request: whoever requested the run makes each call and sends its result, within `timeoutMs`.
   * `execute` is never called. See `RunSession.clientCalls`.
   */
  readonly outside?: true;
  /** `key` is the same on every retry of the same call; pass it to services that accept an idempotency key. */
  execute(
    args: JsonObject,
    context: { readonly signal: AbortSignal; readonly key: string },
  ): Promise<ToolOutput> | ToolOutput;
};

/** The options of `defineTool`: a tool whose `execute` has the types of its schema. */
export type ToolOptions<S extends Schema = Schema> = Omit<ToolDefinition, 'inputSchema' | 'execute' | 'approve'> & {
  /** The schema of the arguments; `args` of `execute` has its type. */
  readonly inputSchema: S;
  /** Whether a person must allow each call before it runs; a function decides by the arguments, as `execute` gets them. */
  readonly approve?: true | ((args: ArgsOf<S>) => boolean);
  /** `args`: what the schema's own library makes of the arguments, with its defaults and transforms. */
  execute(
    args: ArgsOf<S>,
    context: { readonly signal: AbortSignal; readonly key: string },
  ): Promise<ToolOutput> | ToolOutput;
};

/** What a model is shown of a tool, and a run records. */
export type ToolSchema = { readonly name: string; readonly description: string; readonly inputSchema: JsonObject };

/** Tools that a client brings while its run works; the content of a `tools` crossing, as JSON. `timeoutMs`: the client's time for a call. */
export type GivenTools = { readonly tools: readonly ToolSchema[]; readonly timeoutMs: number };

/** A tool that is ready to be called: its schema is JSON Schema, and `execute` takes JSON. */
export type CallableTool = ToolDefinition & ToolSchema;

/** Provides tools when a session starts, for example an MCP server. */
export type ToolSource = {
  /** Letters, digits, dashes and underscores; the first part of its tools' names. Default: `tools`. */
  readonly name?: string;
  /** Called at most once per session. The result belongs to that session and is closed with it. */
  list(context: { readonly signal: AbortSignal }): Promise<ListedTools | readonly ToolDefinition[]>;
};

/** A tool source as its sessions use it. */
export type NamedSource = {
  readonly name: string;
  list(context: { readonly signal: AbortSignal }): Promise<ListedTools>;
};

/** What an agent may list in `tools`. */
export type ToolItem = ToolDefinition | ToolSource | BuiltinTool | (string & {}) | AiTools;

/** AI SDK tools under their names, such as `{ weather: tool({ … }) }`. */
export type AiTools = { readonly [name: string]: AiTool };

/** A tool of the AI SDK with an `execute`: `tool({ description, inputSchema, execute })`. */
export type AiTool = {
  readonly description?: string | ((options: never) => string) | undefined;
  readonly inputSchema: unknown;
  readonly execute?: ((...args: never) => unknown) | undefined;
  readonly toModelOutput?: ((...args: never) => unknown) | undefined;
};

/** The tools of a source, for one session. */
export type ListedTools = {
  /** Under the source's own names; models see `<source>__<tool>`. */
  readonly tools: readonly ToolDefinition[];
  /** Never rejects. */
  close?(): Promise<void>;
};

/**
 * One of our agents as a tool for a loop of your own: an AI SDK tool and a `ToolDefinition` at once. Each call is a run of its own.
 * It returns the answer: text, or the JSON of an agent that answers in JSON.
 */
export type AgentTool = {
  /** The agent's name as a tool. */
  readonly name: string;
  /** The agent's description. */
  readonly description: string;
  /** JSON Schema that also has the Standard Schema interface. */
  readonly inputSchema: JsonObject & AgentToolSchema;
  /** Rejects with a CloisterError if there is no answer. */
  execute(
    args: JsonObject,
    context?: { readonly signal?: AbortSignal | undefined; readonly abortSignal?: AbortSignal | undefined },
  ): Promise<Json>;
};

type AgentToolSchema = {
  readonly '~standard': StandardSchema<JsonObject>['~standard'] & {
    readonly jsonSchema: {
      input(options: { readonly target: string }): Record<string, unknown>;
      output(options: { readonly target: string }): Record<string, unknown>;
    };
  };
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
