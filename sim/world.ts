// What outlives every process: the disk, the providers, time, and the notes of what happened.
import type { RunId } from '#base';
import type { CellFolders } from '#contracts';
import { memoryCellFolders } from '#adapters/cell-folders';
import { Disk } from './disk.ts';
import { Faults } from './faults.ts';
import type {
  Asking,
  DiskLengths,
  Following,
  Life,
  Mailing,
  ModelCall,
  Noting,
  Refusal,
  RunRequest,
  ToolCall,
  Writing,
} from './history.ts';
import type { SeedPlan } from './plan.ts';
import type { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import { Trace } from './trace.ts';

type Watcher = {
  readonly process: number;
  readonly run: RunId;
  readonly record: string;
  nth: number;
  due(): void;
};

/** Some day in 2026. */
const startMs = 1_790_000_000_000;

export class World {
  readonly seed: number;
  readonly plan: SeedPlan;
  readonly random: Random;
  readonly ids: Random;
  readonly scheduler: Scheduler;
  readonly trace = new Trace();
  readonly disk = new Disk();
  readonly files: CellFolders = memoryCellFolders();
  readonly faults: Faults;
  readonly modelCalls: ModelCall[] = [];
  readonly toolCalls: ToolCall[] = [];
  readonly writings: Writing[] = [];
  readonly followings: Following[] = [];
  readonly lives: Life[] = [];
  readonly requests: RunRequest[] = [];
  readonly refusals: Refusal[] = [];
  readonly notings: Noting[] = [];
  readonly askings: Asking[] = [];
  readonly mailings: Mailing[] = [];
  /** How many sessions were made ready to work. */
  sessions = 0;
  /** Turns that a process was asked for and that have no run yet, by process and conversation. */
  readonly turnsAsked = new Map<string, Pick<RunRequest, 'goal' | 'budget' | 'agent'>>();
  /** Told of a run that goes on from a cut, before it begins. */
  onContinued: ((request: RunRequest) => void) | null = null;
  /** Those who wait for a record to be written. */
  readonly watchers: Watcher[] = [];
  readonly blobs = new Set<string>();
  /** Keys under which a service has already done what it was asked. */
  readonly done = new Set<string>();
  readonly uncaught: string[] = [];
  batchMost = 0;
  clockWasSet = false;
  #wallOffsetMs = 0;

  constructor(seed: number, plan: SeedPlan, random: Random, strict: boolean) {
    this.seed = seed;
    this.plan = plan;
    this.random = random.fork('world');
    this.ids = random.fork('ids');
    this.scheduler = new Scheduler(random.fork('order'), strict);
    this.faults = new Faults(plan.faults, random.fork('faults'), this.scheduler);
    this.scheduler.onEvent = (kind) => this.trace.note(`${this.scheduler.now} ${kind}`);
  }

  get now(): number {
    return this.scheduler.now;
  }

  /** What the clock on the wall says. */
  wall(): number {
    return startMs + Math.floor(this.scheduler.now) + this.#wallOffsetMs;
  }

  /** Somebody sets that clock. */
  setWall(byMs: number): void {
    this.clockWasSet = true;
    this.#wallOffsetMs += byMs;
    this.trace.note(`the clock is set by ${byMs}`);
  }

  isAlive(process: number): boolean {
    const life = this.lives[process - 1];
    return life?.diedAt === null && life.exitedAt === null;
  }

  onDisk(): DiskLengths {
    return this.requests.map(({ run }) => this.disk.length(run));
  }

  request(run: RunId): RunRequest | undefined {
    return this.requests.find((one) => one.run === run);
  }

  /** The run that this one goes on from, or the one that that one does, and so on. */
  rootOf(run: RunId): RunId {
    const cut = this.request(run)?.cut ?? null;
    return cut === null ? run : this.rootOf(cut.run);
  }
}
