// One session's own use of a source of tools.
//
//   O1. What a session opened is closed with it, also when it is stopped in the middle of opening.
import { CloisterError, sha256 } from '#base';
import type { JsonObject } from '#base';
import type { ListedTools, RetrySafety, SourceUse, ToolDefinition, ToolSchema } from '#contracts';

/** As the log keeps it: what the model sees, the source's own name for it, and how a call may be made. */
export type ListedTool = ToolSchema & {
  readonly own: string;
  readonly repeat: RetrySafety;
  readonly timeoutMs?: number;
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
    return tools.filter(({ name }) => only === null || only.includes(name)).map((tool) => this.#listed(tool));
  }

  /** A listed tool as it is called: after a resume the source is opened at the first call. */
  definition({ name, own, description, inputSchema, repeat, timeoutMs }: ListedTool): ToolDefinition {
    return {
      name,
      description,
      inputSchema,
      repeat,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      execute: async (args, context) => {
        const { tools } = await this.#open(context.signal);
        // Opening may have taken longer than the call was given.
        // probe: source-opened-late
        if (context.signal.aborted) throw new CloisterError('cancelled');
        const tool = tools.find((one) => one.name === own);
        if (tool === undefined) throw new CloisterError('server_tools', `${this.name} no longer has "${own}".`);
        return tool.execute(args, context);
      },
    };
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    try {
      const listed = await this.#listing;
      await listed?.close?.();
    } catch {
      // It could not be opened, so there is nothing to close.
    }
  }

  #open(signal: AbortSignal): Promise<ListedTools> {
    if (this.#closed) throw new CloisterError('cancelled');
    const listing = (this.#listing ??= this.#use.source.list({ signal }));
    // The next call may have better luck.
    listing.catch(() => (this.#listing = null));
    return listing;
  }

  #listed({ name, description, inputSchema, repeat = 'never', timeoutMs }: ToolDefinition): ListedTool {
    if (
      typeof name !== 'string' ||
      typeof description !== 'string' ||
      inputSchema === null ||
      typeof inputSchema !== 'object'
    )
      throw new CloisterError('server_tools', `${this.name} lists a tool without a name, a description or a schema.`);
    return {
      name: shownName(this.name, name),
      own: name,
      description,
      inputSchema: JSON.parse(JSON.stringify(inputSchema)) as JsonObject,
      repeat,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
  }
}

const nameCharsMax = 64;

/** What providers allow in a tool's name: letters, digits, dash and underscore, at most 64 characters. */
export const plainName = (name: string): string => {
  const plain = name.replace(/[^A-Za-z0-9_-]/gu, '_');
  return plain.length <= nameCharsMax ? plain : `${plain.slice(0, nameCharsMax - 9)}_${sha256(name).slice(0, 8)}`;
};

export const shownName = (source: string, tool: string): string => plainName(`${source}__${tool}`);
