// One run of agents that call each other: each cell passes on what its plan says, and does anything else privately. When it has
// ended, it says what each cell could observe.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { CellId, Hash, Json, JsonObject } from '#base';
import type {
  Agent,
  Birth,
  Budget,
  SessionResources,
  Frame,
  History,
  HistoryEntry,
  Model,
  Outcome,
  ToolOutput,
  NamedSource,
  CellFolder,
  Question,
  RunPorts,
  StoredAttachment,
} from '#contracts';
import { shownBytesMax } from '#core/memory';
import { startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { pathBelow } from './agent-tree.ts';
import type { TestAgent, AgentTree, StandInSource } from './agent-tree.ts';
import { CallCell } from './call-cell.ts';
import { drawPersonAnswer } from './draw-person.ts';
import { createObservation } from './observer.ts';
import type { Observation, Observations } from './observer.ts';
import { planCell } from './plan.ts';
import type { ChildCall, PlannedCell, Scenario, Plan } from './plan.ts';
import { drawReply } from './random-model.ts';
import { Records, visibleOutcome } from './records.ts';
import type { RelationToVaried } from './records.ts';
import { Rng } from './rng.ts';
import { createStandInSource, drawToolOutput } from './stand-in-tools.ts';
import type { TestModelFacts } from './subject.ts';
import { createTestModel } from './test-model.ts';
import type { TestModelOutput } from './test-model.ts';
import { TestRun, testRunId } from './test-run.ts';
import type { TestRunSetting } from './test-run.ts';

type RunSetting = Scenario &
  TestRunSetting & {
    readonly root: TestAgent;
    /** Plans by place, as far as they have been drawn; all runs of a group share them. */
    readonly plans: Map<string, Plan>;
    /** The goal as it crosses. */
    readonly goal: string;
    readonly budget: Budget;
    /** The salt of a cell's private content; the same for all cells that are not varied. */
    saltOf(place: string, path: string): string;
  };

type NewCell = { readonly birth: Birth; readonly parent: CallCell | null; readonly child: ChildCall | null };

export class CallRun extends TestRun<CallCell, RunSetting> {
  readonly #tree: AgentTree;
  readonly #closing: Promise<void>[] = [];
  #newCell: NewCell | null = null;
  #live: Run | null = null;
  #contextGiven = false;
  #hasFiles = false;
  #outcome!: Outcome;
  readonly #outcomes = new Map<CellId, Outcome>();
  readonly #files = new Map<CellId, Observation>();
  #records: Records | null = null;

  constructor(team: AgentTree, setting: RunSetting) {
    super(setting);
    this.#tree = team;
  }

  async run(): Promise<void> {
    const { root, goal, budget } = this.setting;
    const history = this.#history();
    const system = this.#system();
    const attachments = await this.#attachments();
    const more = { system, attachments, ...(history === null ? {} : { history }) };
    const live = startRun(root.agent, goal, budget, this.ports(), more);
    this.#live = live;
    this.#outcome = await this.time.finish(live.outcome);
    if (this.#closing.length > 0) await this.time.finish(Promise.all(this.#closing));
    for (const state of this.#hasFiles ? this.cells : [])
      this.#files.set(state.cell, createObservation('files', JSON.stringify(await this.#filesOf(state))));
    for (const { record, cell } of this.frames) {
      if (record.type === 'settle' && record.ended !== undefined)
        this.#outcomes.set(record.ended.cell, record.ended.outcome);
      if (record.type === 'close') this.#outcomes.set(cell, record.outcome);
    }
  }

  outcomeOf({ cell }: CallCell): Outcome | undefined {
    return this.#outcomes.get(cell);
  }

  /** The observations of all cells except the varied ones and their private helpers. */
  observations(isVaried: (state: CallCell) => boolean, withRecords: boolean): Observations {
    const relations = relateCells(this.cells, isVaried);
    const relationOf = (cell: CellId): RelationToVaried => relations.get(cell) ?? 'unrelated';
    const all = new Map<string, readonly Observation[]>();
    for (const state of this.cells) {
      if (isVaried(state) || state.isPrivateHelper(isVaried)) continue;
      const { cell, place, observer } = state;
      const records = withRecords ? (this.#records ??= new Records(this, false)).observationsOf(cell, relationOf) : [];
      all.set(place, [...observer.observations, this.#files.get(cell) ?? noFiles, ...records]);
    }
    const relation = this.cells[0] === undefined ? 'varied' : relationOf(this.cells[0].cell);
    const outcome = JSON.stringify(visibleOutcome(this.#outcome, relation));
    return all.set('the caller', [createObservation('outcome', outcome)]);
  }

  /** Draws the caller's own instructions. They are private to the root. */
  #system(): readonly string[] {
    const { seed } = this.setting;
    const { modelToolName } = this.setting.root.agent.signature;
    if (!new Rng(`${seed} system`).percent(30)) return [];
    const own = new Rng(`${seed} system ${this.setting.saltOf(modelToolName, pathBelow('', modelToolName))}`);
    return Array.from({ length: 1 + own.below(2) }, () => own.words());
  }

  /** Draws files that come with the goal. They are private to the root. */
  async #attachments(): Promise<readonly StoredAttachment[]> {
    const { seed, root } = this.setting;
    const { modelToolName } = root.agent.signature;
    // In a small window they would leave no room for anything else.
    const isSmall = (root.agent.caps.limits.contextTokensMax ?? Infinity) < 4_000;
    if (isSmall || !new Rng(`${seed} attachments`).percent(25)) return [];
    const own = new Rng(`${seed} attachments ${this.setting.saltOf(modelToolName, pathBelow('', modelToolName))}`);
    const text = { mediaType: 'text/plain', name: `${own.hex()}.txt`, text: own.words() };
    if (own.percent(50)) return [text];
    const bytes = Buffer.from(own.words());
    const sha256 = (await this.ports().storeBlob(bytes)) as Hash;
    return [{ mediaType: 'image/png', sha256, bytes: bytes.byteLength, pixels: 1 + own.below(2_000) }, text];
  }

  /** Draws earlier conversation and context. It is private to the root, except for context that children share. */
  #history(): History | null {
    const { root, seed } = this.setting;
    const common = new Rng(`${seed} history`);
    if (common.percent(50)) return null;
    const {
      signature: { modelToolName },
    } = root.agent;
    const own = new Rng(`${seed} history ${this.setting.saltOf(modelToolName, pathBelow('', modelToolName))}`);
    const known = this.#sharesContext(root) ? common : own;
    // Some of it is long, so that what a small window still shows depends on estimates.
    const context = Array.from({ length: 1 + known.below(4) }, (): HistoryEntry => {
      const text = known.words().padEnd(known.pick([0, 300, 700]), ' and so on');
      return { agent: null, category: 'CONTEXT', text };
    });
    const dialog: HistoryEntry[] = [
      { agent: null, category: 'DIALOG', text: own.words() },
      { agent: root.agent.name, category: 'DIALOG', text: own.words() },
    ];
    return { conversation: 'before', leftOut: 0, entries: [...context, ...dialog.slice(0, own.below(3))] };
  }

  /** When the first child that shares the root's context starts, gives the root more context, and refreshes each such child. */
  #refreshShare({ planned, cell }: CallCell): void {
    const {
      permissions: { share },
    } = planned.testAgent.agent;
    // A child that passes the context on would do so at a time that depends on its private work.
    if (planned.depth !== 1 || planned.isExtra || !share.includes('context') || this.#sharesContext(planned.testAgent))
      return;
    if (!this.#contextGiven) this.#live?.do({ do: 'add-context', text: new Rng(`${this.setting.seed} given`).words() });
    this.#contextGiven = true;
    this.#live?.do({ do: 'refresh-share', child: cell });
  }

  #sharesContext({ agent }: TestAgent): boolean {
    return agent.children.agents.some(({ permissions: { share } }) => share.includes('context'));
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
  protected override onFrame(frame: Frame): void {
    const { record, cell } = frame;
    if (record.type === 'begin' && record.question !== undefined) return this.#answerLater(frame, record.question);
    if (record.type === 'open') this.#newCell = { birth: record.birth, parent: null, child: null };
    if (record.type !== 'begin' || record.about?.['step'] === undefined) return;
    const parent = this.cellState(cell);
    const { args } = record.about;
    const called = parent?.matchCall(typeof args === 'string' ? args : '');
    if (record.birth !== undefined && parent !== undefined)
      this.#newCell = { birth: record.birth, parent, child: called?.child ?? null };
  }

  /** A person answers every question. When, and what they say, is private to the cell that asked. */
  #answerLater({ no, cell }: Frame, question: Question): void {
    const state = this.cellState(cell);
    if (state === undefined) return;
    const { definition } = state.planned.testAgent.agent;
    const schema = definition.tools.find(({ name }) => name === question.tool)?.inputSchema;
    const { validate } = this.setting;
    const { delayMs, answer } = drawPersonAnswer(question, state.salt, { schema, validate });
    const id = `person-${no}`;
    const give = async (): Promise<void> =>
      void (await this.#live?.do({ do: 'answer', ...answer, frame: no, by: 'operator', right: 'operator', id }));
    // The cell may have ended meanwhile.
    this.time.timer(delayMs, () => void give().catch(() => undefined));
  }

  protected override equip(agent: Agent): SessionResources {
    const testAgent = this.#tree.find(agent);
    if (testAgent === undefined || this.#newCell === null)
      throw new Error(`No cell was about to start as "${agent.name}".`);
    const state = this.#createCell(testAgent, this.#newCell);
    this.#newCell = null;
    return {
      models: testAgent.models.map((model, index) => this.#model(state, model, index)),
      sources: testAgent.sources.map((source) => ({ only: source.only, source: this.#source(state, source) })),
    };
  }

  #createCell(testAgent: TestAgent, { birth, parent, child }: NewCell): CallCell {
    const {
      signature: { modelToolName },
    } = testAgent.agent;
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
    const salt = this.setting.saltOf(place, path);
    const secrets = this.setting.secretsOf(testAgent);
    return this.addCell(new CallCell(birth, parent, { planned, plan, path, salt, secrets }), testAgent);
  }

  #model(state: CallCell, model: TestModelFacts, index: number): Model {
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

  #source(state: CallCell, source: StandInSource): NamedSource {
    const rng = new Rng(`${state.salt} listing ${source.name}`);
    return createStandInSource(source, this, {
      begin: async (context) => {
        state.observer.record(`listing of ${source.name}`, JSON.stringify(Object.keys(context)));
        if (source.own !== undefined) return;
        await this.time.sleep(rng.percent(10) ? 2 : 0);
        if (state.plan.ending === 'unlisted') throw new Error(rng.words());
      },
      describe: (description) => `${description} ${rng.hex()}`,
      close: async () => state.observer.record(`closing of ${source.name}`, ''),
    });
  }

  protected override drawOutput(state: CallCell, name: string, args: JsonObject): Promise<ToolOutput> | ToolOutput {
    const { delays, longTexts } = this.setting.size;
    const rng = new Rng(`${state.salt} ${name} ${JSON.stringify(args)}`);
    const shown = shownBytesMax(state.planned.limits);
    const longBytes = longTexts && shown <= 8_000 ? shown + 300 : 0;
    const draw = (): ToolOutput => drawToolOutput(name, args, rng, { secrets: state.secrets, longBytes });
    return rng.percent(delays) ? this.time.sleep(1 + rng.below(6))!.then(draw) : draw();
  }

  #watchWrites(workspace: CellFolder): CellFolder {
    return {
      ...workspace,
      write: (path, bytes) => {
        this.#hasFiles = true;
        return workspace.write(path, bytes);
      },
    };
  }

  /** The complete files of a cell. */
  async #filesOf(state: CallCell): Promise<Json> {
    const workspace = this.folders.open(testRunId, state.cell);
    const files: JsonObject[] = [];
    for (const { path } of await workspace.list())
      files.push({ path, content: Buffer.from((await workspace.read(path)).bytes).toString('latin1') });
    return files;
  }
}

const noTools: readonly LanguageModelV4FunctionTool[] = [];
const noFiles = createObservation('files', '[]');

const relateCells = (
  cells: readonly CallCell[],
  isVaried: (state: CallCell) => boolean,
): ReadonlyMap<CellId, RelationToVaried> => {
  const relations = new Map<CellId, RelationToVaried>();
  for (const state of cells) {
    if (!isVaried(state)) continue;
    relations.set(state.cell, 'varied');
    for (let { parent } = state; parent !== null; { parent } = parent)
      if (relations.get(parent.cell) !== 'varied') relations.set(parent.cell, 'ancestor');
  }
  return relations;
};
