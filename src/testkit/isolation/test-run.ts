// One run with a fake clock and test models, which records everything that its cells observe.
import { sha256 } from '#base';
import type { CellId, JsonObject, RunId } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import type {
  Agent,
  Birth,
  CellFolders,
  Frame,
  RunPorts,
  SessionResources,
  ToolDefinition,
  ToolOutput,
  Validate,
} from '#contracts';
import { FakeTime } from './fake-time.ts';
import { OpenCalls } from './open-calls.ts';
import { Observer } from './observer.ts';
import type { PartCache } from './observer.ts';
import { Rng } from './rng.ts';
import type { TestAgent } from './agent-tree.ts';
import type { RedactFor } from './test-environment.ts';

/** What the runs of all kinds of pairs are given. */
export type TestRunSetting = TestRunWorld & {
  /** Whether clients listen during the run. */
  readonly hasListeners: boolean;
  /** The seed of the ids, and the start time. */
  readonly ids: string;
  readonly startMs: number;
};

/** What the subject says about the world around a run. */
export type TestRunWorld = {
  readonly validate: Validate;
  /** Whether the user's own tools are run. */
  readonly usesRealTools: boolean;
  /** What an agent's providers and servers get from the environment, if anything. */
  environmentOf(testAgent: TestAgent): string | null;
  /** The secret values of its environment. */
  secretsOf(testAgent: TestAgent): readonly string[];
  readonly redactFor: RedactFor;
};

/** A cell as it is observed. */
export class ObservedCell {
  readonly birth: Birth;
  readonly cell: CellId;
  /** The same in every run: `lead › worker #2` is the second worker that the lead has started. */
  readonly place: string;
  readonly parent: ObservedCell | null;
  readonly observer: Observer;

  constructor(birth: Birth, place: string, parent: ObservedCell | null, tools?: PartCache) {
    this.birth = birth;
    this.cell = birth.cell;
    this.place = place;
    this.parent = parent;
    this.observer = new Observer(tools);
  }
}

type Execute = ToolDefinition['execute'];

export abstract class TestRun<State extends ObservedCell, Setting extends TestRunSetting = TestRunSetting> {
  readonly cells: State[] = [];
  frames: Frame[] = [];
  readonly time: FakeTime;
  readonly setting: Setting;
  protected readonly folders: CellFolders = memoryCellFolders();
  readonly #calls = new OpenCalls();
  readonly #ids: Rng;
  readonly #drawnIds = new Set<string>();
  readonly #byCell = new Map<string, State>();
  readonly #blobs = new Map<string, Uint8Array>();

  constructor(setting: Setting) {
    this.setting = setting;
    this.time = new FakeTime(setting.startMs, setting.usesRealTools ? this.#calls : null);
    this.#ids = new Rng(setting.ids);
  }

  /** Called after each frame of the log; frames say which cells start. */
  protected abstract onFrame(frame: Frame): void;
  protected abstract equip(agent: Agent): SessionResources;
  protected abstract findTestAgent(agent: Agent): TestAgent | undefined;
  /** The result of a tool that is not really run. */
  protected abstract drawOutput(state: State, name: string, args: JsonObject): Promise<ToolOutput> | ToolOutput;

  cellState(cell: string): State | undefined {
    return this.#byCell.get(cell);
  }

  /** Names a cell by its place, unless its id reveals something. */
  nameOf(cell: string): string {
    const state = this.#byCell.get(cell);
    return state === undefined || !this.#isRandom(cell) ? cell : state.place;
  }

  protected drawId(): string {
    const id = this.#ids.hex();
    this.#drawnIds.add(id);
    return id;
  }

  protected addCell(state: State, testAgent: TestAgent | undefined): State {
    this.cells.push(state);
    this.#byCell.set(state.cell, state);
    const environment = testAgent === undefined ? null : this.setting.environmentOf(testAgent);
    if (environment !== null) state.observer.record('environment', environment);
    return state;
  }

  /** Handles a call of an agent's own tool. */
  tool(name: string, [args, context]: Parameters<Execute>, own: ToolDefinition | null): ReturnType<Execute> {
    const cell = context.key.slice(0, context.key.lastIndexOf('/'));
    const state = this.#byCell.get(cell);
    // A tool of a run that has ended may still be called.
    if (state === undefined) return own === null ? '' : own.execute(args, context);
    const key = this.#isRandom(cell) ? context.key.replace(cell, '<cell>') : context.key;
    state.observer.record(`call of ${name}`, JSON.stringify({ args, key, context: Object.keys(context) }));
    return own === null ? this.drawOutput(state, name, args) : this.#calls.track(() => own.execute(args, context));
  }

  /** `isOver`: whether the process of these ports has crashed. */
  protected ports(isOver: () => boolean = () => false): RunPorts {
    const { frames, setting } = this;
    return {
      run: testRunId,
      log: {
        append: (frame) => void (isOver() || (frames.push(frame), this.onFrame(frame))),
        durable: () => undefined,
        close: async () => undefined,
      },
      clock: { now: () => this.time.now(), timer: (ms, due) => this.time.timer(ms, () => void (isOver() || due())) },
      ids: { random: () => this.drawId() },
      workspaces: this.folders,
      validate: setting.validate,
      redactFor: (agent) => setting.redactFor(agent, agent === null ? undefined : this.findTestAgent(agent)),
      resources: { resourcesFor: (agent) => this.equip(agent) },
      storeBlob: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      readBlob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
      listener: {
        hasLiveListeners: setting.hasListeners,
        onLive: (cell, _agent, event) =>
          void (isOver() || this.#byCell.get(cell)?.observer.record('live', JSON.stringify(event))),
      },
    };
  }

  /** Whether the id ends with a drawn part, so that it reveals nothing. */
  #isRandom(cell: string): boolean {
    return this.#drawnIds.has(cell.slice(-idChars));
  }
}

export const testRunId = 'f00d00000001' as RunId;
const idChars = 12;
