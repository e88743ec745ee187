// One run on a stage of its own: no real time, no real models, and everything that its cells were told.
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
  Redact,
  ToolDefinition,
  ToolOutput,
  CellFolder,
  CellFolders,
} from '#contracts';
import { startRun } from '#core/orchestration';
import type { RunHandle, RunWorldPorts } from '#core/orchestration';
import { counted, FakeTime } from './fake-time.ts';
import type { OpenCalls } from './fake-time.ts';
import { Rng } from './rng.ts';
import { drawReply } from './random-model.ts';
import { planOf } from './plan.ts';
import type { Ask, PlannedCell, Scenario, Plan } from './plan.ts';
import { playedModel } from './played-model.ts';
import type { PlayedOutput } from './played-model.ts';
import { playedSource, toolAnswer } from './played-tools.ts';
import { CellState } from './cell-state.ts';
import type { PlayedModel } from './subject.ts';
import { pathBelow } from './team.ts';
import type { PlayedAgent, Team } from './team.ts';

export type Setting = Scenario & {
  readonly root: PlayedAgent;
  /** What cells at these places have planned, as far as it is known: the same in all runs of a group. */
  readonly plans: Map<string, Plan>;
  /** As it crosses. */
  readonly goal: string;
  readonly budget: Budget;
  /** Ids, and the time at which it begins. */
  readonly ids: string;
  readonly startMs: number;
  /** What the privacy of a cell is drawn from besides what it sees; the same for all that keep nothing. */
  saltOf(place: string, path: string): string;
  /** What an agent's providers and servers are told, null when that is nothing; and what of it is secret. */
  told(part: PlayedAgent): string | null;
  secretsOf(part: PlayedAgent): readonly string[];
  readonly redact: Redact | null;
  /** Whether tools are those of the user. */
  readonly isReal: boolean;
};

type NewCell = { readonly birth: Birth; readonly parent: CellState | null; readonly ask: Ask | null };

export class WatchedRun {
  readonly seats: CellState[] = [];
  readonly frames: Frame[] = [];
  readonly time: FakeTime;
  readonly #workspaces: CellFolders = memoryCellFolders();
  /** Whether any cell has files. */
  hasFiles = false;
  readonly #run: RunId;
  readonly #team: Team;
  readonly #setting: Setting;
  readonly #ids: Rng;
  readonly #drawn = new Set<string>();
  readonly #calls: OpenCalls = { count: 0 };
  readonly #byCell = new Map<CellId, CellState>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #closing: Promise<void>[] = [];
  #newborn: NewCell | null = null;
  #live: RunHandle | null = null;
  #given = false;

  constructor(team: Team, setting: Setting) {
    this.#team = team;
    this.#setting = setting;
    this.time = new FakeTime(setting.startMs, setting.isReal ? this.#calls : null);
    this.#ids = new Rng(setting.ids);
    this.#run = this.#ids.hex() as RunId;
  }

  async play(): Promise<Outcome> {
    const { root, goal, budget } = this.#setting;
    const history = this.#history();
    const live = startRun(root.agent, goal, budget, this.#world(), history === null ? {} : { history });
    this.#live = live;
    const outcome = await this.time.finish(live.outcome);
    if (this.#closing.length > 0) await this.time.finish(Promise.all(this.#closing));
    return outcome;
  }

  /** What was said and given before: the root keeps it to itself, but for what others are given of it. */
  #history(): History | null {
    const { root, seed } = this.#setting;
    const common = new Rng(`${seed} history`);
    if (common.percent(50)) return null;
    const { toolName } = root.agent;
    const own = new Rng(`${seed} history ${this.#setting.saltOf(toolName, pathBelow('', toolName))}`);
    const known = this.#sharesContext(root) ? common : own;
    const entries: HistoryEntry[] = [
      { agent: null, category: 'CONTEXT', text: known.words() },
      { agent: null, category: 'DIALOG', text: own.words() },
      { agent: root.agent.name, category: 'DIALOG', text: own.words() },
    ];
    return { conversation: 'before', leftOut: 0, entries: entries.slice(0, 1 + own.below(3)) };
  }

  /** Once the first child that shares what the root knows is at work, the root is given more, and each such child too. */
  #refresh({ born, cell }: CellState): void {
    const { share } = born.part.agent;
    // Whoever hands it on does so at a moment of its own choosing.
    if (born.depth !== 1 || born.isTwin || !share.includes('context') || this.#sharesContext(born.part)) return;
    if (!this.#given) this.#live?.give(new Rng(`${this.#setting.seed} given`).words());
    this.#given = true;
    this.#live?.refreshShare(cell);
  }

  #sharesContext({ agent }: PlayedAgent): boolean {
    return agent.agents.some(({ share }) => share.includes('context'));
  }

  #draw(): string {
    const id = this.#ids.hex();
    this.#drawn.add(id);
    return id;
  }

  /** Whether nothing can be read from it: it ends with what was drawn for it. */
  #isRandom(cell: CellId): boolean {
    return this.#drawn.has(cell.slice(-idChars));
  }

  #world(): RunWorldPorts {
    return {
      run: this.#run,
      log: { append: (frame) => this.#append(frame), durable: () => undefined, close: async () => undefined },
      clock: this.time,
      ids: { random: () => this.#draw() },
      workspaces: { open: (run, cell) => this.#noticed(this.#workspaces.open(run, cell)) },
      validate: this.#setting.validate,
      redact: this.#setting.redact,
      equip: (agent) => this.#equip(agent),
      closing: (done) => void this.#closing.push(done),
      keep: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      blob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
      heard: () => this.#setting.dials.heard,
      onLive: (cell, _agent, event) => this.#byCell.get(cell)?.eye.record('live', JSON.stringify(event)),
    };
  }

  /** A frame tells which cell is about to be born, and which of its parent's calls asked for it. */
  #append(frame: Frame): void {
    this.frames.push(frame);
    const { record, cell } = frame;
    if (record.type === 'open') this.#newborn = { birth: record.birth, parent: null, ask: null };
    if (record.type !== 'begin' || record.about?.['step'] === undefined) return;
    const parent = this.#byCell.get(cell);
    const { args } = record.about;
    const called = parent?.begin(typeof args === 'string' ? args : '');
    if (record.birth !== undefined && parent !== undefined)
      this.#newborn = { birth: record.birth, parent, ask: called?.ask ?? null };
  }

  #equip(agent: Agent): SessionResources {
    const part = this.#team.partOf(agent);
    if (part === undefined || this.#newborn === null) throw new Error(`Nobody was about to be "${agent.name}".`);
    const seat = this.#seat(part, this.#newborn);
    this.#newborn = null;
    const told = this.#setting.told(part);
    if (told !== null) seat.eye.record('environment', told);
    return {
      models: part.models.map((model, index) => this.#model(seat, model, index)),
      sources: part.sources.map((source) => ({
        only: source.only,
        source: playedSource(source, seat, this.time, (...called) => this.#called(seat, ...called)),
      })),
    };
  }

  #seat(part: PlayedAgent, { birth, parent, ask }: NewCell): CellState {
    const { toolName } = part.agent;
    const label = ask?.label ?? toolName;
    const place = parent === null ? label : `${parent.born.place} › ${label}`;
    const born: PlannedCell = {
      part,
      place,
      depth: birth.depth,
      limits: parent === null ? part.limits.root : part.limits.child,
      cells: parent === null ? this.#setting.dials.cells : (ask?.cells ?? 0),
      isTwin: ask?.isTwin ?? false,
      above: [...(parent?.born.above ?? []), part.agent.file ?? part.agent.name],
    };
    const path = pathBelow(parent?.path ?? '', toolName);
    const { plans } = this.#setting;
    const plan = plans.get(place) ?? planOf(born, this.#setting);
    plans.set(place, plan);
    const seat = new CellState(born, plan, {
      cell: birth.cell,
      parent,
      path,
      salt: this.#setting.saltOf(place, path),
      secrets: this.#setting.secretsOf(part),
    });
    this.seats.push(seat);
    this.#byCell.set(birth.cell, seat);
    return seat;
  }

  #model(seat: CellState, model: PlayedModel, index: number) {
    const { dials, validate } = this.#setting;
    const say = (options: LanguageModelV4CallOptions): PlayedOutput => {
      if (seat.requests === 0) this.#refresh(seat);
      const mark = seat.eye.request(options);
      const chance = new Rng(`${seat.salt} ${mark.slice(0, 24)} ${seat.requests++} ${index}`);
      const turn = seat.replies;
      const tools = (options.tools ?? noTools) as readonly LanguageModelV4FunctionTool[];
      const said = drawReply(seat, { tools, model: index, chance }, { dials, validate });
      return { ...said, turn, delayMs: chance.percent(dials.delays) ? 1 + chance.below(6) : 0 };
    };
    return playedModel(model, { say, sleep: (ms) => this.time.sleep(ms) });
  }

  /** A tool of an agent's own. */
  tool(name: string, [args, context]: Parameters<ToolDefinition['execute']>, own: ToolDefinition | null) {
    const cell = context.key.slice(0, context.key.lastIndexOf('/')) as CellId;
    const seat = this.#byCell.get(cell);
    // What ended long ago may still call.
    if (seat === undefined) return own === null ? '' : own.execute(args, context);
    return this.#called(seat, name, [args, context], own);
  }

  #called(
    seat: CellState,
    name: string,
    [args, context]: Parameters<ToolDefinition['execute']>,
    own: ToolDefinition | null,
  ): Promise<ToolOutput> | ToolOutput {
    const key = this.#isRandom(seat.cell) ? context.key.replace(seat.cell, '<cell>') : context.key;
    seat.eye.record(`call of ${name}`, JSON.stringify({ args, key, context: Object.keys(context) }));
    if (own === null) return toolAnswer(seat, name, args, this.#setting.dials, this.time);
    return counted(this.#calls, () => own.execute(args, context));
  }

  /** A cell by its place, which is the same in every run. */
  nameOf(cell: string): string {
    const seat = this.#byCell.get(cell as CellId);
    return seat === undefined || !this.#isRandom(seat.cell) ? cell : seat.born.place;
  }

  #noticed(workspace: CellFolder): CellFolder {
    return {
      ...workspace,
      write: (path, bytes) => {
        this.hasFiles = true;
        return workspace.write(path, bytes);
      },
    };
  }

  /** The files of a cell, whole. */
  async filesOf(seat: CellState): Promise<Json> {
    const workspace = this.#workspaces.open(this.#run, seat.cell);
    const files: JsonObject[] = [];
    for (const { path } of await workspace.list())
      files.push({ path, content: Buffer.from((await workspace.read(path)).bytes).toString('latin1') });
    return files;
  }
}

const idChars = 12;
const noTools: readonly LanguageModelV4FunctionTool[] = [];
