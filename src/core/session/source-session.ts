// One session's use of a tool source.
//
//   sources-closed-with-session. Even if the session is stopped while opening one.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import { sourceToolName } from '#core/rules';
import { toCallableTool } from './callable-tool.ts';
import type { CallableTool, ListedTools, RetrySafety, SourceUse, ToolDefinition, ToolSchema } from '#contracts';

/** A tool as recorded in the log: what the model sees, the source's own name for it, and how it may be called. */
export type ListedTool = ToolSchema & {
  readonly own: string;
  readonly repeat: RetrySafety;
  readonly timeoutMs?: number;
  /** The source says that a person must allow each call. Absent: it says nothing. */
  readonly approve?: true;
};

export class SourceSession {
  readonly #use: SourceUse;
  #listing: Promise<ListedTools> | null = null;
  #closed = false;

  constructor(use: SourceUse) {
    this.#use = use;
  }

  get name(): string {
    return this.#use.source.name;
  }

  async list(signal: AbortSignal): Promise<readonly ListedTool[]> {
    const { tools } = await this.#open(signal);
    const { only } = this.#use;
    const missing = only?.find((name) => !tools.some((tool) => tool.name === name));
    if (missing !== undefined)
      throw new CloisterError(
        'server_tools',
        `${this.name} has no tool "${missing}"; it has ${tools.map(({ name }) => name).join(', ')}.`,
      );
    return tools.filter(({ name }) => only === null || only.includes(name)).map((tool) => this.#toListedTool(tool));
  }

  /** A listed tool as a callable definition. After a resume, the source is opened on the first call. */
  definition(listed: ListedTool): CallableTool {
    const { name, own, description, inputSchema, repeat, timeoutMs } = listed;
    return {
      name,
      description,
      inputSchema,
      repeat,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      execute: async (args, context) => {
        const { tools } = await this.#open(context.signal);
        // Opening the source may have taken longer than the call's timeout.
        // probe: source-opened-late
        if (context.signal.aborted) throw new CloisterError('cancelled');
        const tool = tools.find((one) => one.name === own);
        if (tool === undefined)
          throw new CloisterError('server_tools', `${this.name} no longer has the tool "${own}".`);
        return this.#callable(tool).execute(args, context);
      },
    };
  }

  /** Closes it until it is needed again. Never rejects. */
  async rest(): Promise<void> {
    const listing = this.#listing;
    this.#listing = null;
    try {
      await (await listing)?.close?.();
    } catch {
      // It could not be opened, so there is nothing to close.
    }
  }

  /** Never rejects. */
  close(): Promise<void> {
    this.#closed = true;
    return this.rest();
  }

  #open(signal: AbortSignal): Promise<ListedTools> {
    if (this.#closed) throw new CloisterError('cancelled');
    const listing = (this.#listing ??= this.#use.source.list({ signal }));
    // The next call tries again.
    listing.catch(() => (this.#listing = null));
    return listing;
  }

  #callable(tool: ToolDefinition): CallableTool {
    return toCallableTool(tool, (expected) => {
      throw new CloisterError('server_tools', `${this.name} lists a tool "${tool.name}" without ${expected}.`);
    });
  }

  #toListedTool(tool: ToolDefinition): ListedTool {
    const { name, description, inputSchema, repeat = 'never', timeoutMs, approve } = this.#callable(tool);
    if (
      typeof name !== 'string' ||
      typeof description !== 'string' ||
      inputSchema === null ||
      typeof inputSchema !== 'object'
    )
      throw new CloisterError('server_tools', `${this.name} lists a tool without a name, a description or a schema.`);
    return {
      name: sourceToolName(this.name, name),
      own: name,
      description,
      inputSchema: JSON.parse(JSON.stringify(inputSchema)) as JsonObject,
      repeat,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(approve === undefined ? {} : { approve: true as const }),
    };
  }
}
