// One simulated process, from its start to its end or crash: the world as the runtime sees it from inside.
//
//   sim-process-may-die. Every call into the world counts; the process may crash at one of them. After that, its calls have no
//       effect.
//   sim-process-dead-hears-nothing. Nothing is delivered to a dead process.
import type { RunId } from '#base';
import type { Clock, Ids, LogPage, Store, CellFolders } from '#contracts';
import { openCommitter, openLogReader, openLogStore, describeOwner } from '#testing/adapters/stores';
import type { Ack, LogStore, RunOwner, Owners, Thread, ThreadListener, ToWorker } from '#testing/adapters/stores';
import { describeMessage } from './describe-message.ts';
import type { ProcessLife } from './history.ts';
import type { ArchiveFolder } from '#app/storage';
import { guardedSignals } from './guarded-signals.ts';
import { never } from './never.ts';
import { simulatedFiles } from './process-files.ts';
import { simulatedLease } from './process-lease.ts';
import { Reach } from './reach.ts';
import { simulatedArchives } from './simulated-archives.ts';
import { appendWatched, noteRecord } from './watched-workspace-log.ts';
import { WatchedLog } from './watched-log.ts';
import type { World } from './world.ts';

export class Process {
  readonly no: number;
  readonly world: World;
  readonly life: ProcessLife;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly store: Store;
  readonly workspaces: CellFolders;
  readonly archives: ArchiveFolder;
  readonly reach: Reach;
  readonly #inner: LogStore;
  readonly #onCrash: (process: Process) => void;
  #alive = true;
  #calls = 0;
  #timers = 0;
  #dieAtCall: number | null;
  readonly #dieAtPlace: string | null;
  readonly #crashed = Promise.withResolvers<void>();

  constructor(world: World, onDeath: (process: Process) => void) {
    this.no = world.processes.length + 1;
    this.world = world;
    this.#onCrash = onDeath;
    this.reach = new Reach(world, this.no);
    this.life = {
      process: this.no,
      startedAt: world.now,
      diedAt: null,
      exitedAt: null,
      timersLeft: 0,
      slotsMissing: 0,
      serversOpen: 0,
    };
    world.processes.push(this.life);
    this.#dieAtCall = world.faults.dieAtCall();
    this.#dieAtPlace = world.faults.dieAtPlace();
    const dieAfterMs = world.faults.dieAfterMs();
    if (dieAfterMs !== null)
      world.scheduler.after(dieAfterMs, `kill ${this.no}`, () => this.#maybeCrash('between events'));
    this.clock = { now: () => this.#now(), timer: (ms, due) => this.#timer(ms, due) };
    this.ids = { random: () => (this.touch('id') ? world.ids.hex() : 'dead') };
    const owners = this.#owners();
    this.#inner = openLogStore({
      kind: 'sqlite',
      path: null,
      reader: openLogReader(world.disk.rows(world.faults.disk), owners),
      rebuild: async () => ({ runs: 0, listed: [], files: 0, skipped: [] }),
      lifeCycle: world.disk.lifeCycle({ step: (place) => this.touch(place), fault: world.faults.disk }),
      startThread: (listener) => this.#startThread(listener, owners),
      defer: (work) => void this.later(0, 'defer', work),
      later: (work) => void this.later(releaseRetryMs, 'release', work),
      now: () => world.wallClock(),
      watchFrames: (notify) =>
        world.disk.watchFrames(() => void this.later(frameNoticeMs, 'frames', () => notify(null))),
      instance: this.#self().instance,
      isLive: (instance) =>
        world.processes.some(({ process }) => instance === `instance-${process}` && world.ownsStill(process)),
      ...(world.plan.leases === null ? {} : { lease: simulatedLease(this) }),
      watchSignals: (notify) => world.disk.watchSignals(() => void this.later(signalNoticeMs, 'signals', notify)),
    });
    this.store = this.#guardedStore();
    this.workspaces = { open: (run, cell) => simulatedFiles(this, world.files.open(run, cell)) };
    this.archives = simulatedArchives(this, world);
    world.trace.note(`process ${this.no} starts`);
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Resolves when it has crashed. */
  get crashed(): Promise<void> {
    return this.#crashed.promise;
  }

  /** The number of set timers. */
  get timers(): number {
    return this.#timers;
  }

  /** Counts a call into the world. Returns false if the call has no effect, because the process is dead or crashes now. */
  touch(place: string): boolean {
    if (!this.#alive) return false;
    if (++this.#calls === this.#dieAtCall || place === this.#dieAtPlace) this.#maybeCrash(place);
    return this.#alive;
  }

  /** Schedules an event for this process; it has no effect once the process is dead. */
  later(ms: number, kind: string, due: () => void): () => void {
    return this.world.scheduler.after(ms, `${kind} ${this.no}`, () => {
      if (this.#alive) this.reach.deliver(() => this.#alive && due());
    });
  }

  /** Alive and not frozen. */
  get isAwake(): boolean {
    return this.#alive && !this.reach.isFrozen;
  }

  /** Resolves after this time; never for a dead process. */
  pause(ms: number, kind: string): Promise<void> {
    return new Promise((resolve) => void this.later(ms, kind, resolve));
  }

  /** Ends the process properly; after this it counts as dead. */
  exit(): void {
    this.#alive = false;
    this.life.exitedAt = this.world.now;
  }

  #maybeCrash(place: string): void {
    if (!this.#alive || !this.world.faults.spendCrash()) return;
    this.world.faults.count(`crash at: ${place}`);
    this.#alive = false;
    this.life.diedAt = this.world.now;
    this.world.trace.note(`process ${this.no} crashes at its call ${this.#calls}: ${place}`);
    this.#onCrash(this);
    this.#crashed.resolve();
  }

  #now(): number {
    this.touch('now');
    return this.world.wallClock();
  }

  #timer(ms: number, due: () => void): () => void {
    if (Number.isNaN(ms)) this.world.uncaught.push('a timer of NaN milliseconds');
    if (!this.touch('timer') || ms === Infinity) return () => undefined;
    this.#timers++;
    let set = true;
    const over = (): void => {
      if (set) this.#timers--;
      set = false;
    };
    const cancel = this.later(ms, 'timer', () => {
      over();
      if (this.touch('due')) due();
    });
    return () => {
      over();
      cancel();
    };
  }

  #owners(): Owners {
    return {
      isAlive: ({ pid }: RunOwner) => this.world.ownsStill(pid),
      describe: describeOwner,
    };
  }

  #self(): RunOwner {
    return {
      pid: this.no,
      host: 'simulated',
      started: '',
      since: this.world.wallClock(),
      instance: `instance-${this.no}`,
    };
  }

  #startThread(listener: ThreadListener, owners: Owners): Thread {
    const { world } = this;
    const { faults, random } = world;
    let lives = true;
    const committer = openCommitter({
      connect: () => world.disk.connect(() => lives && this.touch('row'), faults.disk, this.no),
      self: () => this.#self(),
      owners,
    });
    const end = (reason: string): void => {
      lives = false;
      this.later(random.log(1, 5), 'thread-end', () => listener.ended(reason));
    };
    const commit = (message: ToWorker): void => {
      if (!this.touch('commit')) return;
      if (message.type === 'close') {
        committer.close();
        return end('it was closed');
      }
      const dies = faults.draw(faults.plan.disk / 4, 'thread', { 'dies before commit': 1, 'dies after commit': 1 });
      if (dies === 'dies before commit') return end('it died');
      const ack = committer.commitBatch(message.items);
      if (!this.#touchSignals(message.items, ack)) return;
      world.trace.note(`commit by ${this.no}: ${ack.failure?.detail ?? 'ok'} ${world.onDisk().join(' ')}`);
      if (!this.touch('committed')) return;
      if (dies !== null) return end('it died');
      this.later(random.log(1, 10) + this.reach.delayMs(), 'ack', () => this.#acknowledge(listener, ack));
    };
    return {
      post: (message) => {
        if (!this.touch('post')) return;
        if (message.type === 'batch') world.batchPeak = Math.max(world.batchPeak, message.items.length);
        world.trace.note(`post by ${this.no}: ${describeMessage(message)}`);
        this.later(random.log(1, 30) + this.reach.delayMs(), 'commit', () => commit(message));
      },
      ref: () => undefined,
      unref: () => undefined,
    };
  }

  /** Signals that are stored or removed on the disk, and nobody knows yet. */
  #touchSignals(items: Extract<ToWorker, { type: 'batch' }>['items'], { failure }: Ack): boolean {
    const has = (what: string): boolean => failure === null && items.some((item) => item.do === what);
    return (!has('signal') || this.touch('signal stored')) && (!has('remove-signal') || this.touch('signal removed'));
  }

  #acknowledge(listener: ThreadListener, ack: Ack): void {
    if (!this.touch('ack')) return;
    listener.acknowledge(ack);
    // A repeated acknowledgement must change nothing.
    if (this.world.faults.draw(this.world.faults.plan.disk / 2, 'ack', { twice: 1 }) !== null)
      listener.acknowledge(ack);
  }

  #guardedStore(): Store {
    const { world } = this;
    const inner = this.#inner;
    const guarded = <T>(place: string, work: () => Promise<T> | T): Promise<T> =>
      this.touch(place) ? Promise.resolve(work()) : never();
    return {
      kind: inner.kind,
      path: inner.path,
      acquireRun: (run: RunId) =>
        guarded('acquire run', async () => {
          const log = await inner.acquireRun(run);
          return new WatchedLog(this, run, log);
        }),
      read: (run) => guarded('read', () => inner.read(run)),
      inspect: (run) => guarded('inspect', () => inner.inspect(run)),
      pages: (run) => this.#pages(run),
      list: (runs) => guarded('list', () => inner.list(runs)),
      rebuild: (...asked) => guarded('rebuild', () => inner.rebuild(...asked)),
      putBlob: (bytes) =>
        guarded('put blob', async () => {
          const ref = await inner.putBlob(bytes);
          if (this.#alive) world.blobs.add(ref);
          return ref;
        }),
      getBlob: (ref) => guarded('get blob', () => inner.getBlob(ref)),
      readWorkspaceLog: () => guarded('read workspace log', () => inner.readWorkspaceLog()),
      appendRecord: (record, after) =>
        guarded('append record', () => appendWatched(this, record, after, () => inner.appendRecord(record, after))),
      hashPrefix: (run, frames) => guarded('hash prefix', () => inner.hashPrefix(run, frames)),
      ...guardedSignals(this, inner, guarded),
      deleteRuns: (deletions, after) =>
        guarded('delete runs', async () => {
          for (const { tombstone } of deletions) noteRecord(this, { type: 'tombstone', tombstone });
          await inner.deleteRuns(deletions, after);
          if (!this.touch('deleted')) await never();
        }),
      finishDeletions: (runs) => guarded('finish deletions', () => inner.finishDeletions(runs)),
      importRun: (bodies, record) =>
        guarded('import run', async () => {
          noteRecord(this, { type: 'import', ...record });
          await inner.importRun(bodies, record);
          if (!this.touch('imported')) await never();
        }),
      // Looking at deletions draws no fault, so that runs without any stay what they were.
      pendingDeletions: () => inner.pendingDeletions(),
      tombstone: (run) => inner.tombstone(run),
      readBodies: (run) => guarded('read bodies', () => inner.readBodies(run)),
      runBytes: () => inner.runBytes(),
      forkRecords: () => inner.forkRecords(),
      strayFolders: () => inner.strayFolders(),
      leftovers: () => inner.leftovers(),
      close: () => guarded('close', () => inner.close()),
    };
  }

  async *#pages(run: RunId): AsyncGenerator<LogPage, void, undefined> {
    for await (const page of this.#inner.pages(run)) {
      if (!this.touch('read page')) await never();
      yield page;
    }
  }
}

/** Until a release that could not be written is tried again. */
const releaseRetryMs = 250;

/** How long after their commit frames are noticed. */
const frameNoticeMs = 10;

/** How long after its commit a signal is noticed. */
const signalNoticeMs = 80;
