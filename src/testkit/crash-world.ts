// The world of one run that may be interrupted. It keeps what the run wrote and did.
import { sha256 } from '#base';
import type { CellId, RunId } from '#base';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import type {
  Agent,
  SessionResources,
  Frame,
  Model,
  Redact,
  SourceUse,
  ToolDefinition,
  CellFolder,
  CellFolders,
  RunPorts,
} from '#contracts';
import { buildAgent, buildTeam } from '#core/orchestration';
import type { FakeWorld } from './fake-world.ts';
import { agentOptions, teamOptions } from './isolation/agent-options.ts';
import type { OpenCalls } from './isolation/open-calls.ts';

type CrashPorts = {
  readonly agent: Agent;
  equip(agent: Agent): SessionResources;
  redactFor?(agent: Agent | null, models?: readonly string[]): Redact | null;
};

type WrittenFile = {
  readonly cell: CellId;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly records: number;
};

const run = 'c0ffee000001' as RunId;

export class CrashWorld {
  /** The same agents, with tools that record their calls. */
  readonly agent: Agent;
  readonly frames: Frame[] = [];
  readonly toolRuns: { readonly name: string; readonly key: string }[] = [];
  /** The number of model requests. */
  modelRequests = 0;
  readonly #ports: CrashPorts;
  readonly #time: FakeWorld;
  /** Calls in flight. */
  readonly #calls: OpenCalls;
  readonly #agents = new Map<Agent, Agent>();
  readonly #workspaces: CellFolders = memoryCellFolders();
  readonly #writtenFiles: WrittenFile[] = [];
  readonly #blobs = new Map<string, Uint8Array>();

  constructor(ports: CrashPorts, time: FakeWorld, calls: OpenCalls) {
    this.#ports = ports;
    this.#time = time;
    this.#calls = calls;
    this.agent = this.#instrument(ports.agent);
  }

  agentNamed(name: string): Agent | undefined {
    return [...this.#agents.values()].find((agent) => agent.name === name);
  }

  /** Restores what another run had written when its log had this many records. */
  async restoreFrom(before: CrashWorld, records: number): Promise<void> {
    for (const [ref, bytes] of before.#blobs) this.#blobs.set(ref, bytes);
    for (const { cell, path, bytes, records: at } of before.#writtenFiles)
      if (at <= records) await this.#workspaces.open(run, cell).write(path, bytes);
  }

  world(): RunPorts {
    return {
      run,
      log: { append: (frame) => void this.frames.push(frame), durable: () => undefined, close: async () => undefined },
      clock: this.#time.clock,
      ids: this.#time.ids,
      redactFor: (agent, models) => this.#ports.redactFor?.(agent, models) ?? null,
      workspaces: { open: (_run, cell) => this.#workspace(cell) },
      validate,
      resources: { resourcesFor: (agent) => this.#equip(agent) },
      storeBlob: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      readBlob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
    };
  }

  #instrument(agent: Agent): Agent {
    const known = this.#agents.get(agent);
    if (known !== undefined) return known;
    const instrument = (child: Agent): Agent => this.#instrument(child);
    const made =
      agent.team === null
        ? buildAgent(
            agentOptions(
              agent,
              { agents: agent.children.agents.map(instrument), spawnable: agent.children.spawnable.map(instrument) },
              (tool) => this.#tool(tool, tool.name),
            ),
            agent.file,
            agent.caps,
          )
        : buildTeam(teamOptions(agent, instrument), agent.file, agent.caps);
    this.#agents.set(agent, made);
    return made;
  }

  #tool(tool: ToolDefinition, name: string): ToolDefinition {
    return {
      ...tool,
      execute: (args, context) => {
        this.toolRuns.push({ name, key: context.key });
        return this.#calls.track(() => tool.execute(args, context));
      },
    };
  }

  #equip(agent: Agent): SessionResources {
    const { models, sources } = this.#ports.equip(agent);
    return { models: models.map((model) => this.#model(model)), sources: sources.map((use) => this.#source(use)) };
  }

  #model(model: Model): Model {
    const { language } = model;
    return {
      ...model,
      language: {
        specificationVersion: 'v4',
        provider: language.provider,
        modelId: language.modelId,
        supportedUrls: language.supportedUrls,
        doGenerate: (options) => language.doGenerate(options),
        doStream: (options) => {
          this.modelRequests++;
          return this.#calls.track(async () => bufferStream(await language.doStream(options)));
        },
      },
    };
  }

  #source({ source, only }: SourceUse): SourceUse {
    return {
      only,
      source: {
        name: source.name,
        list: async (context) => {
          const listed = await source.list(context);
          return { ...listed, tools: listed.tools.map((tool) => this.#tool(tool, `${source.name}__${tool.name}`)) };
        },
      },
    };
  }

  #workspace(cell: CellId): CellFolder {
    const workspace = this.#workspaces.open(run, cell);
    return {
      ...workspace,
      write: (path, bytes) => {
        this.#writtenFiles.push({ cell, path, bytes, records: this.frames.length });
        return workspace.write(path, bytes);
      },
    };
  }
}

type StreamResult = Awaited<ReturnType<Model['language']['doStream']>>;

/** Reads the stream to its end first: until then, the model call counts as in flight. */
const bufferStream = async (result: StreamResult): Promise<StreamResult> => {
  const parts: unknown[] = [];
  const reader = result.stream.getReader();
  const { broken } = await (async (): Promise<{ broken?: unknown }> => {
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) parts.push(next.value);
      return {};
    } catch (error) {
      return { broken: error };
    }
  })();
  const stream = new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      if (broken === undefined) controller.close();
    },
    pull(controller) {
      if (broken !== undefined) controller.error(broken);
    },
  });
  return { ...result, stream: stream as StreamResult['stream'] };
};
