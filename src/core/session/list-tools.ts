// The tools of an agent's sources: listed when its session starts, recorded, and from then on fixed.
//
//   L1. What the model is shown of a source is the recorded list; a replay shows the same without asking again.
//   L2. Only the tools that the definition names are shown or can be called.
//   L3. What a session opened is closed with it, also when it is stopped in the middle of opening.
import { CloisterError, sha256 } from '#base';
import type { Failure, Json, JsonObject } from '#base';
import type { ListedTools, Pending, Repeat, SourceUse, StepOperation, ToolDefinition, ToolSchema } from '#contracts';
import { plainTool } from './plain-tool.ts';
import type { Session } from './state.ts';

/** As the log keeps it: what the model sees, the source's own name for it, and how a call may be made. */
type Listed = ToolSchema & { readonly own: string; readonly repeat: Repeat; readonly timeoutMs?: number };

/** Null when the tools of all sources are in view; else why the session cannot start. */
export const listTools = async (session: Session): Promise<Failure | null> => {
  const { cell, opened } = session;
  const pending = opened.map((source) => cell.home.begin(listStep(session, source)));
  for (let open: readonly Pending<StepOperation>[] = pending; open.length > 0;) {
    const settled = await cell.home.first(open);
    cell.record(settled.no, settled.settled!);
    session.work.add(settled.settled!);
    open = open.filter((one) => one !== settled);
  }
  for (const [index, { no, settled }] of pending.entries()) {
    if (!settled!.ok) return settled!.failure;
    const failure = take(session, opened[index]!, no, settled!.value as unknown as readonly Listed[]);
    if (failure !== null) return failure;
  }
  return session.work.exhausted();
};

const take = (session: Session, source: OpenSource, no: number, listed: readonly Listed[]): Failure | null => {
  for (const [place, tool] of listed.entries()) {
    if (session.tools.has(tool.name))
      return { code: 'server_tools', detail: `"${tool.name}" (of ${source.name}) is there twice.` };
    session.tools.set(tool.name, plainTool(source.definition(tool)));
    session.window.add({ rule: 'listed-tool@1', of: [{ from: 'operation', no }], with: [place] }, 'SYSTEM');
  }
  return null;
};

const listStep = ({ cell, work }: Session, source: OpenSource): StepOperation => ({
  do: 'step',
  name: `tools:${source.name}`,
  repeat: 'free',
  timeoutMs: work.timeoutMs(cell.limits.toolTimeout),
  timeoutCode: 'tool_timeout',
  deadline: cell.deadline,
  lane: 'tools',
  work: async ({ signal }) => source.list(signal) as Promise<readonly Listed[] & Json>,
});

/** One session's own use of a source. */
export class OpenSource {
  readonly #use: SourceUse;
  #listing: Promise<ListedTools> | null = null;
  #closed = false;

  constructor(use: SourceUse) {
    this.#use = use;
  }

  get name(): string {
    return this.#use.source.name;
  }

  async list(signal: AbortSignal): Promise<readonly Listed[]> {
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
  definition({ name, own, description, inputSchema, repeat, timeoutMs }: Listed): ToolDefinition {
    return {
      name,
      description,
      inputSchema,
      repeat,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      execute: async (args, context) => {
        const { tools } = await this.#open(context.signal);
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

  #listed({ name, description, inputSchema, repeat = 'never', timeoutMs }: ToolDefinition): Listed {
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
