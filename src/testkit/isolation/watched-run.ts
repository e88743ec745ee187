// One run of agents that call each other: each cell passes on what its plan says, and does anything else privately.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Json, JsonObject } from '#base';
import type {
  Agent,
  Birth,
  Budget,
  SessionResources,
  Frame,
  History,
  HistoryEntry,
  Outcome,
  ToolOutput,
  CellFolder,
  RunPorts,
} from '#contracts';
import { startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
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
import { TestRun, testRunId } from './test-run.ts';
import type { TestRunSetting } from './test-run.ts';

type RunSetting = Scenario &
  TestRunSetting & {
    readonly prepareRoot: TestAgent;
    /** Plans by place, as far as they have been drawn; all runs of a group share them. */
    readonly plans: Map<string, Plan>;
    /** The goal as it crosses. */
    readonly goal: string;
    readonly budget: Budget;
    /** The salt of a cell's private content; the same for all cells that are not varied. */
    saltOf(place: string, path: string): string;
    /** The secret values of its environment. */
    secretsOf(testAgent: TestAgent): readonly string[];
  };

type NewCell = { readonly birth: Birth; readonly parent: CellState | null; readonly child: ChildCall | null };

export class WatchedRun extends TestRun<CellState, RunSetting> {
  /** Whether any cell has files. */
  hasFiles = false;
  readonly #tree: AgentTree;
  readonly #closing: Promise<void>[] = [];
  #newCell: NewCell | null = null;
  #live: Run | null = null;
  #contextGiven = false;

  constructor(team: AgentTree, setting: RunSetting) {
    super(setting);
    this.#tree = team;
  }

  async run(): Promise<Outcome> {
    const { prepareRoot, goal, budget } = this.setting;
    const history = this.#history();
    const live = startRun(prepareRoot.agent, goal, budget, this.ports(), history === null ? {} : { history });
    this.#live = live;
    const outcome = await this.time.finish(live.outcome);
    if (this.#closing.length > 0) await this.time.finish(Promise.all(this.#closing));
    return outcome;
  }

  /** Draws earlier conversation and context. It is private to the root, except for context that children share. */
  #history(): History | null {
    const { prepareRoot: root, seed } = this.setting;
    const common = new Rng(`${seed} history`);
    if (common.percent(50)) return null;
    const { modelToolName } = root.agent;
    const own = new Rng(`${seed} history ${this.setting.saltOf(modelToolName, pathBelow('', modelToolName))}`);
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
    if (!this.#contextGiven) this.#live?.do({ do: 'add-context', text: new Rng(`${this.setting.seed} given`).words() });
    this.#contextGiven = true;
    this.#live?.do({ do: 'refresh-share', child: cell });
  }

  #sharesContext({ agent }: TestAgent): boolean {
    return agent.agents.some(({ share }) => share.includes('context'));
  }

  protected override ports(): RunPorts {
    const ports = super.ports();
    return {
      ...ports,
      workspaces: { open: (run, cell) => this.#watchWrites(this.folders.open(run, cell)) },
      resources: { ...ports.resources, onClosing: (done) => void this.#closing.push(done) },
    };
  }

  protected override findTestAgent(agent: Agent): TestAgent | undefined {
    return this.#tree.find(agent);
  }

  /** A frame says which cell is about to start, and which call of its parent started it. */
  protected override onFrame({ record, cell }: Frame): void {
    if (record.type === 'open') this.#newCell = { birth: record.birth, parent: null, child: null };
    if (record.type !== 'begin' || record.about?.['step'] === undefined) return;
    const parent = this.cellState(cell);
    const { args } = record.about;
    const called = parent?.matchCall(typeof args === 'string' ? args : '');
    if (record.birth !== undefined && parent !== undefined)
      this.#newCell = { birth: record.birth, parent, child: called?.child ?? null };
  }

  protected override equip(agent: Agent): SessionResources {
    const testAgent = this.#tree.find(agent);
    if (testAgent === undefined || this.#newCell === null)
      throw new Error(`No cell was about to start as "${agent.name}".`);
    const state = this.#createCell(testAgent, this.#newCell);
    this.#newCell = null;
    return {
      models: testAgent.models.map((model, index) => this.#model(state, model, index)),
      sources: testAgent.sources.map((source) => ({
        only: source.only,
        source: createStandInSource(source, state, this.time, (...called) => this.tool(...called)),
      })),
    };
  }

  #createCell(testAgent: TestAgent, { birth, parent, child }: NewCell): CellState {
    const { modelToolName } = testAgent.agent;
    const label = child?.label ?? modelToolName;
    const place = parent === null ? label : `${parent.place} › ${label}`;
    const planned: PlannedCell = {
      testAgent,
      place,
      depth: birth.depth,
      limits: parent === null ? testAgent.limits.root : testAgent.limits.child,
      cells: parent === null ? this.setting.size.cells : (child?.cells ?? 0),
      isExtra: child?.isExtra ?? false,
      ancestors: [...(parent?.planned.ancestors ?? []), testAgent.agent.file ?? testAgent.agent.name],
    };
    const path = pathBelow(parent?.path ?? '', modelToolName);
    const { plans } = this.setting;
    const plan = plans.get(place) ?? planCell(planned, this.setting);
    plans.set(place, plan);
    const state = new CellState(planned, plan, {
      cell: birth.cell,
      parent,
      path,
      salt: this.setting.saltOf(place, path),
      secrets: this.setting.secretsOf(testAgent),
    });
    return this.addCell(state, testAgent);
  }

  #model(state: CellState, model: TestModelFacts, index: number) {
    const { size, validate } = this.setting;
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

  protected override drawOutput(state: CellState, name: string, args: JsonObject): Promise<ToolOutput> | ToolOutput {
    return drawStandInOutput(state, name, args, this.setting.size, this.time);
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
    const workspace = this.folders.open(testRunId, state.cell);
    const files: JsonObject[] = [];
    for (const { path } of await workspace.list())
      files.push({ path, content: Buffer.from((await workspace.read(path)).bytes).toString('latin1') });
    return files;
  }
}

const noTools: readonly LanguageModelV4FunctionTool[] = [];
