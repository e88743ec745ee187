// The people who take checkpoints, restore and branch from them, and add turns to conversations: at any time, in any process, and
// sometimes two at the same time.
import type { RunId } from '#base';
import type { ConversationRef, RunSession } from '#contracts';
import type { SimulatedCloister } from './cloister.ts';
import { errorCode } from './error-code.ts';
import type { CheckpointActionPlan } from './plan.ts';
import { checkpointsIn, conversationsIn } from './watched-workspace-log.ts';
import type { World } from './world.ts';

/** What they need from the supervisor. */
export type SupervisorPorts = {
  /** Returns any process. */
  anyProcess(): SimulatedCloister;
  /** Reserves a process that works on no run with the same cells. Call `leave` to release it. */
  processForFork(run: RunId): { readonly opened: SimulatedCloister; leave(): void };
  follow(opened: SimulatedCloister, session: RunSession): void;
  checkSoon(): void;
  /** Requests another turn in the conversation. */
  requestTurn(conversation: ConversationRef): void;
  /** Perhaps resumes interrupted runs of the conversation. */
  maybeResume(conversation: ConversationRef): void;
};

const waitsMax = 4;

const needsCheckpoint = ({ what }: CheckpointActionPlan): boolean => what === 'restore' || what === 'branch';

export class CheckpointUsers {
  readonly #world: World;
  readonly #supervisor: SupervisorPorts;
  #planned: number;
  #taken = 0;
  #hasWatched = false;

  constructor(world: World, hosts: SupervisorPorts) {
    this.#world = world;
    this.#supervisor = hosts;
    this.#planned = world.plan.checkpointActions.length;
  }

  start(): void {
    this.#world.onAllowedAgent = (run) => this.#watchAllowedAgent(run);
    for (const plan of this.#world.plan.checkpointActions) this.#schedule(plan, plan.afterMs, waitsMax);
  }

  /** Somebody takes a checkpoint while an agent works that a person has allowed, and restores it: once in a seed. */
  #watchAllowedAgent(run: RunId): void {
    const { scheduler, slotRandom: random } = this.#world;
    if (this.#hasWatched) return;
    this.#hasWatched = true;
    this.#world.mayFork = true;
    this.#planned += 2;
    const at = random.log(1, 60);
    scheduler.after(at, 'checkpoint', () => {
      this.#planned--;
      void this.#takeCheckpoint(run, false);
    });
    scheduler.after(at + random.log(50, 4_000), 'restore', () => {
      this.#planned--;
      const taken = checkpointsIn(this.#world).findLast((one) => one.run === run && one.why === 'asked');
      if (taken === undefined) this.#supervisor.checkSoon();
      else void this.#continueFrom('restore', taken);
    });
  }

  /** Waits a bounded time for a checkpoint, if the action needs one. */
  #schedule(plan: CheckpointActionPlan, ms: number, waits: number): void {
    const world = this.#world;
    world.scheduler.after(ms, plan.what, () => {
      const early = plan.what !== 'checkpoint' && world.disk.workspaceRecords().length === 0;
      const nothing = early || (needsCheckpoint(plan) && checkpointsIn(world).length === 0);
      if (nothing && waits > 0) return this.#schedule(plan, world.random.log(10, 500), waits - 1);
      this.#planned--;
      this.#perform(plan);
      if (plan.twice) this.#perform(plan);
    });
  }

  /** Whether all actions have been started. */
  get done(): boolean {
    return this.#planned === 0;
  }

  #perform({ what }: CheckpointActionPlan): void {
    const { random, requests, disk } = this.#world;
    if (what === 'turn') {
      const conversations = conversationsIn(this.#world);
      if (conversations.length > 0) this.#supervisor.requestTurn(random.pick(conversations));
    } else if (what === 'checkpoint') {
      const begun = requests.filter(({ run }) => disk.length(run) > 0);
      const among = begun.length > 0 && random.chance(0.9) ? begun : requests;
      if (among.length > 0) {
        // Now and then the whole run is tried again, from its start. Not drawn, so that older seeds stay as they were.
        void this.#takeCheckpoint(random.pick(among).run, ++this.#taken % 4 === 0);
      }
    } else {
      const checkpoints = checkpointsIn(this.#world);
      if (checkpoints.length === 0) return;
      // Requested checkpoints are mostly from the middle of a run.
      const asked = checkpoints.filter(({ why }) => why === 'asked');
      const checkpoint = random.pick(asked.length > 0 && random.chance(0.7) ? asked : checkpoints);
      void this.#continueFrom(what, checkpoint);
      if (checkpoint.conversation !== null) this.#supervisor.maybeResume(checkpoint.conversation);
    }
  }

  async #takeCheckpoint(run: RunId, atStart: boolean): Promise<void> {
    const { process, cloister } = this.#supervisor.anyProcess();
    await this.#attempt(process.no, `checkpoint of ${run}${atStart ? ' at its start' : ''}`, () =>
      cloister.checkpoints.create(run, { atStart }),
    );
  }

  async #continueFrom(
    what: 'restore' | 'branch',
    { id, run }: { readonly id: string; readonly run: RunId },
  ): Promise<void> {
    const reserved = this.#supervisor.processForFork(run);
    const { opened } = reserved;
    const { process, cloister } = opened;
    const session = await this.#attempt(process.no, `${what} ${id} of ${run}`, async () =>
      what === 'restore' ? cloister.checkpoints.restore(id) : (await cloister.checkpoints.branch(id)).session,
    );
    if (session && process.alive) this.#supervisor.follow(opened, session);
    else this.#supervisor.checkSoon();
    reserved.leave();
  }

  async #attempt<T>(process: number, what: string, work: () => Promise<T>): Promise<T | undefined> {
    const { trace, faults, otherRequests } = this.#world;
    trace.note(`process ${process} is asked to do: ${what}`);
    const [kind] = what.split(' ');
    try {
      const made = await work();
      faults.count(`conversation: ${kind}`);
      otherRequests.push({ process, what, code: null, message: '' });
      return made;
    } catch (error) {
      const code = errorCode(error);
      trace.note(`process ${process} cannot: ${what}: ${String(error)}`);
      faults.count(`${kind} refused: ${code}`);
      otherRequests.push({ process, what, code, message: String(error) });
      return undefined;
    }
  }
}
