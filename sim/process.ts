// One process, from its start to its end or its death, as the runtime sees the world from inside it.
//
//   P1. Every call into the world counts; at one of them it may die. From then on none of its calls has any effect.
//   P2. Nothing is delivered to the dead.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Clock, Ids, Store, CellFolder, CellFolders } from '#contracts';
import { openCommitter, openLogReader, openLogStore, ownerInWords } from '#adapters/stores';
import type { Ack, LogStore, RunOwner, Owners, Thread, ThreadListener, ToWorker } from '#adapters/stores';
import type { Life } from './history.ts';
import { never } from './never.ts';
import { noteWatched } from './watched-workspace-log.ts';
import { WatchedLog } from './watched-log.ts';
import type { World } from './world.ts';

export class Process {
  readonly no: number;
  readonly world: World;
  readonly life: Life;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly store: Store;
  readonly workspaces: CellFolders;
  readonly #inner: LogStore;
  readonly #onDeath: (process: Process) => void;
  #alive = true;
  #calls = 0;
  #timers = 0;
  #dieAtCall: number | null;

  constructor(world: World, onDeath: (process: Process) => void) {
    this.no = world.lives.length + 1;
    this.world = world;
    this.#onDeath = onDeath;
    this.life = {
      process: this.no,
      bornAt: world.now,
      diedAt: null,
      exitedAt: null,
      timersLeft: 0,
      slotsMissing: 0,
      serversOpen: 0,
    };
    world.lives.push(this.life);
    this.#dieAtCall = world.faults.dieAtCall();
    const dieAfterMs = world.faults.dieAfterMs();
    if (dieAfterMs !== null)
      world.scheduler.after(dieAfterMs, `kill ${this.no}`, () => this.#mayDie('between two events'));
    this.clock = { now: () => this.#now(), timer: (ms, due) => this.#timer(ms, due) };
    this.ids = { random: () => (this.touch('id') ? world.ids.hex() : 'dead') };
    const owners = this.#owners();
    this.#inner = openLogStore({
      kind: 'sqlite',
      path: 'simulated',
      reader: openLogReader(world.disk.rows(world.faults.disk), owners),
      rebuild: async () => 0,
      startThread: (ears) => this.#startThread(ears, owners),
      defer: (work) => void this.later(0, 'defer', work),
      now: () => world.wall(),
    });
    this.store = this.#guardedStore();
    this.workspaces = { open: (run, cell) => this.#workspace(world.files.open(run, cell)) };
    world.trace.note(`process ${this.no} starts`);
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers;
  }

  /** One call into the world: false when it has no effect, because its process is dead or dies of it. */
  touch(place: string): boolean {
    if (!this.#alive) return false;
    if (++this.#calls === this.#dieAtCall) this.#mayDie(place);
    return this.#alive;
  }

  /** An event of the world that reaches this process, if it still lives. */
  later(ms: number, kind: string, due: () => void): () => void {
    return this.world.scheduler.after(ms, `${kind} ${this.no}`, () => {
      if (this.#alive) due();
    });
  }

  /** Comes back after so long; never to the dead. */
  pause(ms: number, kind: string): Promise<void> {
    return new Promise((resolve) => void this.later(ms, kind, resolve));
  }

  /** Ends in order: nothing more is done, and whoever asks is told that it is gone. */
  exit(): void {
    this.#alive = false;
    this.life.exitedAt = this.world.now;
  }

  #mayDie(place: string): void {
    if (!this.#alive || !this.world.faults.spendCrash()) return;
    this.world.faults.count(`crash at: ${place}`);
    this.#alive = false;
    this.life.diedAt = this.world.now;
    this.world.trace.note(`process ${this.no} dies at its call ${this.#calls}: ${place}`);
    this.#onDeath(this);
  }

  #now(): number {
    this.touch('now');
    return this.world.wall();
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
      lives: ({ pid }: RunOwner) => this.world.isAlive(pid),
      inWords: ownerInWords,
    };
  }

  #self(): RunOwner {
    return { pid: this.no, host: 'simulated', started: '', since: this.world.wall(), instance: `instance-${this.no}` };
  }

  #startThread(ears: ThreadListener, owners: Owners): Thread {
    const { world } = this;
    const { faults, random } = world;
    let lives = true;
    const committer = openCommitter({
      connect: () => world.disk.connect(() => lives && this.touch('row'), faults.disk),
      self: () => this.#self(),
      owners,
    });
    const end = (reason: string): void => {
      lives = false;
      this.later(random.log(1, 5), 'thread-end', () => ears.ended(reason));
    };
    const commit = (message: ToWorker): void => {
      if (!this.touch('commit')) return;
      if (message.type === 'close') {
        committer.close();
        return end('it was closed');
      }
      const dies = faults.draw(faults.plan.disk / 4, 'thread', { 'dies before commit': 1, 'dies after commit': 1 });
      if (dies === 'dies before commit') return end('it died');
      const { ack } = committer.take(message.items);
      world.trace.note(`commit by ${this.no}: ${ack.failure?.detail ?? 'ok'} ${world.onDisk().join(' ')}`);
      if (!this.touch('committed')) return;
      if (dies !== null) return end('it died');
      this.later(random.log(1, 10), 'ack', () => this.#acknowledge(ears, ack));
    };
    return {
      post: (message) => {
        if (!this.touch('post')) return;
        if (message.type === 'batch') world.batchMost = Math.max(world.batchMost, message.items.length);
        world.trace.note(`post by ${this.no}: ${wordsOf(message)}`);
        this.later(random.log(1, 30), 'commit', () => commit(message));
      },
      ref: () => undefined,
      unref: () => undefined,
    };
  }

  #acknowledge(ears: ThreadListener, ack: Ack): void {
    if (!this.touch('ack')) return;
    ears.answer(ack);
    // Said twice, it must mean the same as said once.
    if (this.world.faults.draw(this.world.faults.plan.disk / 2, 'ack', { twice: 1 }) !== null) ears.answer(ack);
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
        guarded('own', async () => {
          const log = await inner.acquireRun(run);
          return new WatchedLog(this, run, log);
        }),
      read: (run) => guarded('read', () => inner.read(run)),
      inspect: (run) => guarded('inspect', () => inner.inspect(run)),
      list: (runs) => guarded('list', () => inner.list(runs)),
      rebuild: (run) => guarded('rebuild', () => inner.rebuild(run)),
      putBlob: (bytes) =>
        guarded('keep', async () => {
          const ref = await inner.putBlob(bytes);
          if (this.#alive) world.blobs.add(ref);
          return ref;
        }),
      getBlob: (ref) => guarded('blob', () => inner.getBlob(ref)),
      readWorkspaceLog: () => guarded('book', () => inner.readWorkspaceLog()),
      appendRecord: (record, after) =>
        guarded('note', () => noteWatched(this, record, after, () => inner.appendRecord(record, after))),
      hashPrefix: (run, frames) => guarded('cut', () => inner.hashPrefix(run, frames)),
      close: () => guarded('close', () => inner.close()),
    };
  }

  #workspace(files: CellFolder): CellFolder {
    const { faults, random } = this.world;
    const reach = async <T>(place: string, work: () => Promise<T>): Promise<T> => {
      if (!this.touch(place)) return never();
      if (faults.draw(faults.plan.disk / 4, 'file', { fails: 1 }) !== null)
        throw new CloisterError('store_failed', 'The system reports EIO.');
      // It lies there before anybody is told, or it takes a while to get there.
      const done = random.chance(0.5) ? work() : undefined;
      done?.catch(() => undefined);
      await this.pause(random.log(1, 5), 'file');
      return done ?? work();
    };
    return {
      write: (path, bytes) => reach('write file', () => files.write(path, bytes)),
      read: (path, from, length) => reach('read file', () => files.read(path, from, length)),
      list: () => reach('list files', () => files.list()),
    };
  }
}

const wordsOf = (message: ToWorker): string =>
  message.type === 'close'
    ? 'close'
    : message.items
        .map((item) => {
          if (item.do === 'frame') return `${item.run}/${item.no} (${item.body.length})`;
          if (item.do === 'page') return `page (${item.record.length})`;
          return item.do === 'blob' ? `blob ${item.ref}` : `${item.do} ${item.run}`;
        })
        .join(', ');
