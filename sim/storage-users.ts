// The people who delete, archive and bring back runs, in any process, sometimes two at the same time.
import { sha256 } from '#base';
import type { RunId } from '#base';
import type { Cloister } from '#contracts';
import { decodeArchive } from '#app/storage';
import type { SimulatedCloister } from './cloister.ts';
import { errorCode } from './error-code.ts';
import type { StorageAction } from './history.ts';
import type { StorageActionPlan } from './plan.ts';
import { conversationsIn } from './watched-workspace-log.ts';
import type { World } from './world.ts';

/** What they need from the supervisor. */
type StoragePorts = {
  anyProcess(): SimulatedCloister;
  checkSoon(): void;
  /** These are in the workspace again, perhaps unfinished. */
  broughtBack(runs: readonly RunId[]): void;
};

type Told = Pick<StorageAction, 'deleted' | 'broughtBack'>;

const waitsMax = 6;

export class StorageUsers {
  readonly #world: World;
  readonly #ports: StoragePorts;
  readonly #atWork = new Set<SimulatedCloister['process']>();
  #planned: number;
  #finishing: SimulatedCloister['process'] | null = null;

  constructor(world: World, ports: StoragePorts) {
    this.#world = world;
    this.#ports = ports;
    this.#planned = world.plan.storageActions.length;
  }

  start(): void {
    for (const plan of this.#world.plan.storageActions) this.#schedule(plan, plan.afterMs, waitsMax);
  }

  /** Whether all actions are over, or died with their process, and no deletion is left unfinished. */
  get done(): boolean {
    const isAtWork = [...this.#atWork].some(({ alive }) => alive);
    return this.#planned === 0 && !isAtWork && this.#world.disk.pendingDeletions().length === 0;
  }

  /** Whoever opens the workspace finishes what a crash has left. */
  opened(opened: SimulatedCloister): void {
    if (this.#world.disk.pendingDeletions().length > 0) void this.#finish(opened);
  }

  /** Somebody looks after a while. */
  check(): void {
    if (this.#world.disk.pendingDeletions().length === 0 || this.#finishing?.alive === true) return;
    void this.#finish(this.#ports.anyProcess());
  }

  /** Runs that were deleted and are there again. */
  broughtBack(): readonly RunId[] {
    const { requests, disk } = this.#world;
    return requests.flatMap(({ run }) => (disk.length(run) > 0 && disk.former(run) !== undefined ? [run] : []));
  }

  async #finish({ process, cloister }: SimulatedCloister): Promise<void> {
    this.#finishing = process;
    this.#world.faults.count('storage: deletion finished later');
    await cloister.storage.finishDeletions().catch(() => undefined);
    if (this.#finishing === process) this.#finishing = null;
    if (!this.done) this.#ports.checkSoon();
  }

  /** Waits a bounded time until there is something. */
  #schedule(plan: StorageActionPlan, ms: number, waits: number): void {
    const { scheduler, disk, requests, storageRandom } = this.#world;
    scheduler.after(ms, 'storage', () => {
      const isEmpty = requests.every(({ run }) => disk.length(run) === 0 && !disk.isDeleted(run));
      if (isEmpty && waits > 0) return this.#schedule(plan, storageRandom.log(10, 2_000), waits - 1);
      this.#planned--;
      const run = this.#pickRun(plan);
      void this.#perform(plan, run);
      if (plan.twice) void this.#perform(plan, run);
    });
  }

  #pickRun({ what }: StorageActionPlan): RunId | null {
    const { requests, disk, archives, storageRandom: random } = this.#world;
    const runs = requests.map(({ run }) => run);
    const isArchived = (run: RunId): boolean => disk.isDeleted(run) && archives.has(`${run}.cloister.gz`);
    const wanted = runs.filter((run) => (what === 'restore' ? isArchived(run) : disk.length(run) > 0));
    const among = wanted.length > 0 && random.chance(0.9) ? wanted : runs;
    return among.length === 0 ? null : random.pick(among);
  }

  async #perform({ what, force, withLater }: StorageActionPlan, run: RunId | null): Promise<void> {
    const { storageActions, now, trace, faults } = this.#world;
    const opened = this.#ports.anyProcess();
    const { process, cloister } = opened;
    const no = storageActions.length;
    const action: StorageAction = {
      no,
      process: process.no,
      what,
      at: now,
      run,
      endedAt: null,
      code: null,
      message: '',
      deleted: [],
      broughtBack: [],
    };
    storageActions.push(action);
    trace.note(`process ${process.no} is asked to do: ${what} ${run} (${no})`);
    this.#atWork.add(process);
    try {
      const told = await this.#act(cloister, { what, force, withLater }, { run, why: `action ${no}` });
      if (!process.alive) return;
      Object.assign(action, told);
      faults.count(`storage: ${what}`);
      if (told.broughtBack.length > 0) this.#ports.broughtBack(told.broughtBack);
    } catch (error) {
      if (!process.alive) return;
      Object.assign(action, { code: errorCode(error), message: String(error) });
      faults.count(`${what} refused: ${action.code}`);
    }
    action.endedAt = this.#world.now;
    trace.note(`action ${no} ended: ${action.code ?? 'done'} ${action.message.slice(0, 100)}`);
    this.#atWork.delete(process);
    this.#ports.checkSoon();
  }

  async #act(
    cloister: Cloister,
    { what, force, withLater }: Pick<StorageActionPlan, 'what' | 'force' | 'withLater'>,
    { run, why }: { readonly run: RunId | null; readonly why: string },
  ): Promise<Told> {
    const { storage } = cloister;
    const tell = (tombstones: readonly { readonly run: RunId }[], broughtBack: readonly RunId[] = []): Told => ({
      deleted: tombstones.map((one) => one.run),
      broughtBack,
    });
    if (what === 'expire') return tell(await storage.expire(this.#keepRules()));
    if (what === 'conversation') {
      const all = conversationsIn(this.#world);
      if (all.length === 0) return tell([]);
      const conversation = this.#world.storageRandom.pick(all);
      return tell((await storage.delete({ conversation }, { force, withLater, why })).tombstones);
    }
    if (run === null) return tell([]);
    switch (what) {
      case 'delete':
        return tell((await storage.delete({ runs: [run] }, { force, withLater, why })).tombstones);
      case 'archive':
        return tell((await storage.archive([run], { force, why })).tombstones);
      case 'restore':
        await storage.restore(run);
        return tell([], [run]);
      case 'move': {
        const bytes = await storage.export(run);
        const { tombstones } = await storage.delete({ runs: [run] }, { force, withLater, why });
        // What was written after the export would be missing.
        const isWhole = tombstones.some((one) => one.run === run && one.frames === decodeArchive(bytes).bodies.length);
        if (!isWhole) return tell(tombstones);
        await storage.import(bytes, { force: true });
        return tell(tombstones, [run]);
      }
      case 'again':
        await this.#askAgain(cloister, run);
        return tell([]);
    }
  }

  /** As a server does for a key whose run it does not find. */
  async #askAgain(cloister: Cloister, run: RunId): Promise<void> {
    const request = this.#world.request(run);
    if (request === undefined || request.conversation !== null || request.forkedFrom !== null) return;
    // Its first request may still be on its way.
    if (this.#world.disk.length(run) === 0 && !this.#world.disk.isDeleted(run)) return;
    const only = { run, requestHash: sha256(request.goal) };
    await cloister.run(request.agent.name, request.goal, { only }).outcome;
  }

  #keepRules() {
    const { storageRandom: random } = this.#world;
    return random.chance(0.5) ? { runs: random.int(0, 2) } : { bytes: random.log(1_000, 200_000) };
  }
}
