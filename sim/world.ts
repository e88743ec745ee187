// What outlives every process: the disk, the providers, time, and the record of what happened.
import type { RunId } from '#base';
import type { CellFolders, Cloister, Frame, RunSession } from '#contracts';
import { Disk } from './disk.ts';
import { Faults } from './faults.ts';
import { DiskLeases, OwnershipRecord } from './leases.ts';
import { wakeSoon } from './lease-faults.ts';
import type {
  OtherRequest,
  DiskLengths,
  FollowedSession,
  ProcessLife,
  OutsideMail,
  ModelCall,
  PutSignal,
  RecordWrite,
  ResumeRefusal,
  RunRequest,
  SentAnswer,
  SignalRemoval,
  StorageAction,
  ToolCall,
  WaitEnd,
  Writing,
} from './history.ts';
import type { SeedPlan } from './plan.ts';
import type { Random } from './random.ts';
import { Scheduler } from './scheduler.ts';
import type { SlotGate } from './slot-gate.ts';
import { Trace } from './trace.ts';

type Watcher = {
  readonly process: number;
  readonly run: RunId;
  readonly record: string;
  nth: number;
  due(): void;
};

export type Freezable = { thaw(): void };

type Sender = { readonly no: number; readonly alive: boolean; readonly crashed: Promise<void> };

/** A process that need not own the run that it does something for. */
export type Elsewhere = {
  readonly process: Sender;
  readonly cloister: Pick<Cloister, 'answer' | 'signal'>;
  resume(): Promise<RunSession | undefined>;
};

/** A day in 2026. */
const startMs = 1_790_000_000_000;

export class World {
  readonly seed: number;
  readonly plan: SeedPlan;
  readonly random: Random;
  readonly ids: Random;
  readonly scheduler: Scheduler;
  readonly trace = new Trace();
  readonly disk = new Disk();
  readonly files: CellFolders = this.disk.folders;
  /** Archives by their names. */
  readonly archives = new Map<string, Uint8Array>();
  readonly faults: Faults;
  readonly modelCalls: ModelCall[] = [];
  readonly toolCalls: ToolCall[] = [];
  readonly writings: Writing[] = [];
  readonly sessions: FollowedSession[] = [];
  readonly processes: ProcessLife[] = [];
  readonly requests: RunRequest[] = [];
  readonly resumeRefusals: ResumeRefusal[] = [];
  readonly recordWrites: RecordWrite[] = [];
  readonly otherRequests: OtherRequest[] = [];
  readonly outsideMail: OutsideMail[] = [];
  readonly storageActions: StorageAction[] = [];
  readonly answers: SentAnswer[] = [];
  readonly signals: PutSignal[] = [];
  readonly signalRemovals: SignalRemoval[] = [];
  /** Processes that do something for a run that they need not own, once for each. */
  readonly sending: Sender[] = [];
  /** Those who answer, by process and run. */
  readonly people = new Map<string, (frame: Frame) => void>();
  /** What passes through ends a run's wait for people, by process and run. */
  readonly slotGates = new Map<string, SlotGate>();
  readonly waitEnds: WaitEnd[] = [];
  /** How long runs wait for slots. */
  readonly slotRandom: Random;
  /** What people do, whatever else is drawn. */
  readonly peopleRandom: Random;
  /** What is asked of runs from other processes. */
  readonly signalRandom: Random;
  /** Which runs are deleted and archived. */
  readonly storageRandom: Random;
  /** What happens to leases and their owners. */
  readonly leaseRandom: Random;
  readonly leases: DiskLeases;
  readonly ownership: OwnershipRecord;
  /** By their numbers. */
  readonly frozen = new Map<number, Freezable>();
  /** Another process than the one with this number, and how it resumes the run; null: everything has ended. */
  elsewhere: ((run: RunId, not: number) => Elsewhere | null) | null = null;
  /** The number of sessions created so far. */
  sessionCount = 0;
  /** Requested turns that have no run yet, by process and conversation. */
  readonly requestedTurns = new Map<string, Pick<RunRequest, 'goal' | 'budget' | 'agent'>>();
  /** Whether somebody may restore or branch a run. */
  mayFork: boolean;
  /** Called when an agent starts that a person has allowed. */
  onAllowedAgent: ((run: RunId) => void) | null = null;
  /** Called for a forked run before it starts. */
  onFork: ((request: RunRequest) => void) | null = null;
  /** Callbacks that wait for a record to be written. */
  readonly watchers: Watcher[] = [];
  readonly blobs = new Set<string>();
  /** Idempotency keys under which a service has already acted. */
  readonly completedKeys = new Set<string>();
  readonly uncaught: string[] = [];
  batchPeak = 0;
  clockWasSet = false;
  #wallOffsetMs = 0;
  #nth = 0;

  constructor(seed: number, plan: SeedPlan, random: Random, strict: boolean) {
    this.seed = seed;
    this.plan = plan;
    this.mayFork = plan.checkpointActions.length > 0;
    this.random = random.fork('world');
    this.ids = random.fork('ids');
    this.peopleRandom = random.fork('people');
    this.slotRandom = random.fork('slots');
    this.signalRandom = random.fork('signals');
    this.storageRandom = random.fork('storage');
    this.leaseRandom = random.fork('leases');
    this.scheduler = new Scheduler(random.fork('order'), strict);
    this.faults = new Faults(plan.faults, random.fork('faults'), this.scheduler);
    this.leases = new DiskLeases(() => this.scheduler.now);
    this.ownership = new OwnershipRecord({
      now: () => this.now,
      nextNth: () => this.nextNth(),
      ownsStill: (process) => this.ownsStill(process),
      onLost: (process) => {
        if (!this.isAlive(process)) return;
        this.faults.count('lease: run taken from a live process');
        wakeSoon(this, this.frozen.get(process));
      },
    });
    this.disk.ownership = this.ownership;
    this.scheduler.onEvent = (kind) => this.trace.note(`${this.scheduler.now} ${kind}`);
  }

  /** Numbers what happens on the disk and to models and tools, in one order. */
  nextNth(): number {
    return this.#nth++;
  }

  /** Whether the owner of a run is still there, as the disk sees it. */
  ownsStill(process: number): boolean {
    return this.plan.leases === null ? this.isAlive(process) : !this.leases.hasLapsed(process);
  }

  /** A process has appended a question. */
  onQuestion(process: number, frame: Frame): void {
    this.people.get(`${process} ${frame.run}`)?.(frame);
  }

  /** A process has appended a frame that may end a wait for people. */
  onWaitEnd(process: number, { run, no: frame }: Frame): void {
    const gate = this.slotGates.get(`${process} ${run}`);
    if (gate !== undefined && (!gate.hasSlot || gate.lateMs.length > 0))
      this.waitEnds.push({ process, run, frame, lateMs: gate.lateMs.at(-1) ?? null });
  }

  /** Whether callers wait until what they ask for is on disk. */
  get givesReceipts(): boolean {
    return this.plan.storageActions.length > 0;
  }

  get now(): number {
    return this.scheduler.now;
  }

  /** The time of the wall clock. */
  wallClock(): number {
    return startMs + Math.floor(this.scheduler.now) + this.#wallOffsetMs;
  }

  /** Somebody changes the wall clock. */
  shiftWallClock(byMs: number): void {
    this.clockWasSet = true;
    this.#wallOffsetMs += byMs;
    this.trace.note(`the wall clock moves by ${byMs} ms`);
  }

  /** Whether this process, or any, does something for a run that it need not own. */
  isSending(process?: number): boolean {
    return this.sending.some(({ no, alive }) => alive && (process ?? no) === no);
  }

  isAlive(process: number): boolean {
    const record = this.processes[process - 1];
    return record?.diedAt === null && record.exitedAt === null;
  }

  onDisk(): DiskLengths {
    return this.requests.map(({ run }) => this.disk.length(run));
  }

  request(run: RunId): RunRequest | undefined {
    return this.requests.find((one) => one.run === run);
  }

  /** The run at the start of the chain of forks. */
  originOf(run: RunId): RunId {
    const forkedFrom = this.request(run)?.forkedFrom ?? null;
    return forkedFrom === null ? run : this.originOf(forkedFrom.run);
  }
}
