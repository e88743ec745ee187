// One run with a fake clock and test models, which records everything that its cells observe.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { sha256 } from '#base';
import type { CellId, Json, JsonObject, RunId } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import type {
  Agent,
  Birth,
  Budget,
  SessionResources,
  Frame,
  History,
  HistoryEntry,
  Outcome,
  ToolDefinition,
  ToolOutput,
  CellFolder,
  CellFolders,
  RunPorts,
} from '#contracts';
import { startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { trackCall, FakeTime } from './fake-time.ts';
import type { OpenCalls } from './fake-time.ts';
import { Rng } from './rng.ts';
import { drawReply } from './random-model.ts';
import { planCell } from './plan.ts';
import type { ChildCall, PlannedCell, Scenario, Plan } from './plan.ts';
import { createTestModel } from './test-model.ts';
import type { TestModelOutput } from './test-model.ts';
import { createStandInSource, drawStandInOutput } from './stand-in-tools.ts';
import { CellState } from './cell-state.ts';
import type { TestModelFacts } from './subject.ts';
import { pathBelow } from './agent-tree.ts';
import type { TestAgent, AgentTree } from './agent-tree.ts';
import type { RedactFor } from './test-environment.ts';

export type RunSetting = Scenario & {
  readonly prepareRoot: TestAgent;
  /** Plans by place, as far as they have been drawn; all runs of a group share them. */
  readonly plans: Map<string, Plan>;
  /** The goal as it crosses. */
  readonly goal: string;
  readonly budget: Budget;
  /** The seed of the ids, and the start time. */
  readonly ids: string;
  readonly startMs: number;
  /** The salt of a cell's private content; the same for all cells that are not varied. */
  saltOf(place: string, path: string): string;
  /** What an agent's providers and servers get from the environment, if anything, and which of its values are secret. */
  environmentOf(testAgent: TestAgent): string | null;
  secretsOf(testAgent: TestAgent): readonly string[];
  readonly redactFor: RedactFor;
  /** Whether the user's own tools are run. */
  readonly usesRealTools: boolean;
};

type NewCell = { readonly birth: Birth; readonly parent: CellState | null; readonly child: ChildCall | null };

export class WatchedRun {
  readonly cells: CellState[] = [];
  readonly frames: Frame[] = [];
  readonly time: FakeTime;
  readonly #workspaces: CellFolders = memoryCellFolders();
  /** Whether any cell has files. */
  hasFiles = false;
  readonly #run: RunId;
  readonly #tree: AgentTree;
  readonly #setting: RunSetting;
  readonly #ids: Rng;
  readonly #drawnIds = new Set<string>();
  readonly #calls: OpenCalls = { count: 0 };
  readonly #byCell = new Map<CellId, CellState>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #closing: Promise<void>[] = [];
  #newCell: NewCell | null = null;
  #live: Run | null = null;
  #contextGiven = false;

  constructor(team: AgentTree, setting: RunSetting) {
    this.#tree = team;
    this.#setting = setting;
    this.time = new FakeTime(setting.startMs, setting.usesRealTools ? this.#calls : null);
    this.#ids = new Rng(setting.ids);
    this.#run = this.#ids.hex() as RunId;
  }

  async run(): Promise<Outcome> {
    const { prepareRoot, goal, budget } = this.#setting;
    const history = this.#history();
    const live = startRun(prepareRoot.agent, goal, budget, this.#world(), history === null ? {} : { history });
    this.#live = live;
    const outcome = await this.time.finish(live.outcome);
    if (this.#closing.length > 0) await this.time.finish(Promise.all(this.#closing));
    return outcome;
  }

  /** Draws earlier conversation and context. It is private to the root, except for context that children share. */
  #history(): History | null {
    const { prepareRoot: root, seed } = this.#setting;
    const common = new Rng(`${seed} history`);
    if (common.percent(50)) return null;
    const { modelToolName } = root.agent;
    const own = new Rng(`${seed} history ${this.#setting.saltOf(modelToolName, pathBelow('', modelToolName))}`);
    const known = this.#sharesContext(root) ? common : own;
    const entries: HistoryEntry[] = [
      { agent: null, category: 'CONTEXT', text: known.words() },
      { agent: null, category: 'DIALOG', text: own.words() },
      { agent: root.agent.name, category: 'DIALOG', text: own.words() },
    ];
    return { conversation: 'before', leftOut: 0, entries: entries.slice(0, 1 + own.below(3)) };
  }

  /** When the first child that shares the root's context starts, gives the root more context, and refreshes each such child. */
  #refreshShare({ planned, cell }: CellState): void {
    const { share } = planned.testAgent.agent;
    // A child that passes the context on would do so at a time that depends on its private work.
    if (planned.depth !== 1 || planned.isExtra || !share.includes('context') || this.#sharesContext(planned.testAgent))
      return;
    if (!this.#contextGiven)
      this.#live?.do({ do: 'add-context', text: new Rng(`${this.#setting.seed} given`).words() });
    this.#contextGiven = true;
    this.#live?.do({ do: 'refresh-share', child: cell });
  }

  #sharesContext({ agent }: TestAgent): boolean {
    return agent.agents.some(({ share }) => share.includes('context'));
  }

  #drawId(): string {
    const id = this.#ids.hex();
    this.#drawnIds.add(id);
    return id;
  }

  /** Whether the id ends with a drawn part, so that it reveals nothing. */
  #isRandom(cell: CellId): boolean {
    return this.#drawnIds.has(cell.slice(-idChars));
  }

  #world(): RunPorts {
    return {
      run: this.#run,
      log: { append: (frame) => this.#append(frame), durable: () => undefined, close: async () => undefined },
      clock: this.time,
      ids: { random: () => this.#drawId() },
      workspaces: { open: (run, cell) => this.#watchWrites(this.#workspaces.open(run, cell)) },
      validate: this.#setting.validate,
      redactFor: (agent) => this.#setting.redactFor(agent, agent === null ? undefined : this.#tree.find(agent)),
      resources: {
        resourcesFor: (agent) => this.#equip(agent),
        onClosing: (done) => void this.#closing.push(done),
      },
      storeBlob: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      readBlob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
      listener: {
        hasLiveListeners: this.#setting.size.hasListeners,
        onLive: (cell, _agent, event) => this.#byCell.get(cell)?.observer.record('live', JSON.stringify(event)),
      },
    };
  }

  /** A frame says which cell is about to start, and which call of its parent started it. */
  #append(frame: Frame): void {
    this.frames.push(frame);
    const { record, cell } = frame;
    if (record.type === 'open') this.#newCell = { birth: record.birth, parent: null, child: null };
    if (record.type !== 'begin' || record.about?.['step'] === undefined) return;
    const parent = this.#byCell.get(cell);
    const { args } = record.about;
    const called = parent?.matchCall(typeof args === 'string' ? args : '');
    if (record.birth !== undefined && parent !== undefined)
      this.#newCell = { birth: record.birth, parent, child: called?.child ?? null };
  }

  #equip(agent: Agent): SessionResources {
    const testAgent = this.#tree.find(agent);
    if (testAgent === undefined || this.#newCell === null)
      throw new Error(`No cell was about to start as "${agent.name}".`);
    const state = this.#createCell(testAgent, this.#newCell);
    this.#newCell = null;
    const environment = this.#setting.environmentOf(testAgent);
    if (environment !== null) state.observer.record('environment', environment);
    return {
      models: testAgent.models.map((model, index) => this.#model(state, model, index)),
      sources: testAgent.sources.map((source) => ({
        only: source.only,
        source: createStandInSource(source, state, this.time, (...called) => this.#callTool(state, ...called)),
      })),
    };
  }

  #createCell(testAgent: TestAgent, { birth, parent, child }: NewCell): CellState {
    const { modelToolName } = testAgent.agent;
    const label = child?.label ?? modelToolName;
    const place = parent === null ? label : `${parent.planned.place} › ${label}`;
    const planned: PlannedCell = {
      testAgent,
      place,
      depth: birth.depth,
      limits: parent === null ? testAgent.limits.root : testAgent.limits.child,
      cells: parent === null ? this.#setting.size.cells : (child?.cells ?? 0),
      isExtra: child?.isExtra ?? false,
      ancestors: [...(parent?.planned.ancestors ?? []), testAgent.agent.file ?? testAgent.agent.name],
    };
    const path = pathBelow(parent?.path ?? '', modelToolName);
    const { plans } = this.#setting;
    const plan = plans.get(place) ?? planCell(planned, this.#setting);
    plans.set(place, plan);
    const state = new CellState(planned, plan, {
      cell: birth.cell,
      parent,
      path,
      salt: this.#setting.saltOf(place, path),
      secrets: this.#setting.secretsOf(testAgent),
    });
    this.cells.push(state);
    this.#byCell.set(birth.cell, state);
    return state;
  }

  #model(state: CellState, model: TestModelFacts, index: number) {
    const { size, validate } = this.#setting;
    const reply = (options: LanguageModelV4CallOptions): TestModelOutput => {
      if (state.requests === 0) this.#refreshShare(state);
      const fingerprint = state.observer.request(options);
      const rng = new Rng(`${state.salt} ${fingerprint.slice(0, 24)} ${state.requests++} ${index}`);
      const turn = state.replies;
      const tools = (options.tools ?? noTools) as readonly LanguageModelV4FunctionTool[];
      const drawn = drawReply(state, { tools, model: index, rng }, { size, validate });
      return { ...drawn, turn, delayMs: rng.percent(size.delays) ? 1 + rng.below(6) : 0 };
    };
    return createTestModel(model, { reply, sleep: (ms) => this.time.sleep(ms) });
  }

  /** Handles a call of an agent's own tool. */
  tool(name: string, [args, context]: Parameters<ToolDefinition['execute']>, own: ToolDefinition | null) {
    const cell = context.key.slice(0, context.key.lastIndexOf('/')) as CellId;
    const state = this.#byCell.get(cell);
    // A tool of a run that has ended may still be called.
    if (state === undefined) return own === null ? '' : own.execute(args, context);
    return this.#callTool(state, name, [args, context], own);
  }

  #callTool(
    state: CellState,
    name: string,
    [args, context]: Parameters<ToolDefinition['execute']>,
    own: ToolDefinition | null,
  ): Promise<ToolOutput> | ToolOutput {
    const key = this.#isRandom(state.cell) ? context.key.replace(state.cell, '<cell>') : context.key;
    state.observer.record(`call of ${name}`, JSON.stringify({ args, key, context: Object.keys(context) }));
    if (own === null) return drawStandInOutput(state, name, args, this.#setting.size, this.time);
    return trackCall(this.#calls, () => own.execute(args, context));
  }

  /** Names a cell by its place, which is the same in every run. */
  nameOf(cell: string): string {
    const state = this.#byCell.get(cell as CellId);
    return state === undefined || !this.#isRandom(state.cell) ? cell : state.planned.place;
  }

  #watchWrites(workspace: CellFolder): CellFolder {
    return {
      ...workspace,
      write: (path, bytes) => {
        this.hasFiles = true;
        return workspace.write(path, bytes);
      },
    };
  }

  /** The complete files of a cell. */
  async filesOf(state: CellState): Promise<Json> {
    const workspace = this.#workspaces.open(this.#run, state.cell);
    const files: JsonObject[] = [];
    for (const { path } of await workspace.list())
      files.push({ path, content: Buffer.from((await workspace.read(path)).bytes).toString('latin1') });
    return files;
  }
}

const idChars = 12;
const noTools: readonly LanguageModelV4FunctionTool[] = [];
