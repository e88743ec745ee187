// The people who take checkpoints of runs, go back to them, branch off from them, and say more in conversations: whenever they
// like, in whichever process, and two of them at once.
import type { RunId } from '#base';
import type { ConversationRef, RunSession } from '#contracts';
import type { SimulatedCloister } from './cloister.ts';
import { codeOf } from './code-of.ts';
import type { KeepingPlan } from './plan.ts';
import { checkpointsIn, conversationsIn } from './watched-workspace-log.ts';
import type { World } from './world.ts';

/** What they need of who looks after processes and runs. */
export type Hosts = {
  /** Any process. */
  any(): SimulatedCloister;
  /** A process that has no run of the same cells at work; `leave` when that is known no more. */
  hosting(run: RunId): { readonly opened: SimulatedCloister; leave(): void };
  follow(opened: SimulatedCloister, session: RunSession): void;
  careSoon(): void;
  /** One more turn is wanted there. */
  turn(conversation: ConversationRef): void;
  /** Perhaps somebody goes on with what was interrupted there. */
  meanwhile(conversation: ConversationRef): void;
};

const waitsMax = 4;

const isBack = ({ what }: KeepingPlan): boolean => what === 'restore' || what === 'branch';

export class Keepers {
  readonly #world: World;
  readonly #hosts: Hosts;
  #planned: number;

  constructor(world: World, hosts: Hosts) {
    this.#world = world;
    this.#hosts = hosts;
    this.#planned = world.plan.keeping.length;
  }

  begin(): void {
    for (const plan of this.#world.plan.keeping) this.#later(plan, plan.afterMs, waitsMax);
  }

  /** Who wants to go back waits for something to go back to, but not for ever. */
  #later(plan: KeepingPlan, ms: number, waits: number): void {
    const world = this.#world;
    world.scheduler.after(ms, plan.what, () => {
      const early = plan.what !== 'checkpoint' && world.disk.pages().length === 0;
      const nothing = early || (isBack(plan) && checkpointsIn(world).length === 0);
      if (nothing && waits > 0) return this.#later(plan, world.random.log(10, 500), waits - 1);
      this.#planned--;
      this.#keep(plan);
      if (plan.twice) this.#keep(plan);
    });
  }

  /** Whether there is nothing more that they want. */
  get done(): boolean {
    return this.#planned === 0;
  }

  #keep({ what }: KeepingPlan): void {
    const { random, requests, disk } = this.#world;
    if (what === 'turn') {
      const conversations = conversationsIn(this.#world);
      if (conversations.length > 0) this.#hosts.turn(random.pick(conversations));
    } else if (what === 'checkpoint') {
      const begun = requests.filter(({ run }) => disk.length(run) > 0);
      const among = begun.length > 0 && random.chance(0.9) ? begun : requests;
      if (among.length > 0) void this.#take(random.pick(among).run);
    } else {
      const checkpoints = checkpointsIn(this.#world);
      if (checkpoints.length === 0) return;
      // Those that were asked for are mostly of the middle of a run.
      const asked = checkpoints.filter(({ why }) => why === 'asked');
      const checkpoint = random.pick(asked.length > 0 && random.chance(0.7) ? asked : checkpoints);
      void this.#goBack(what, checkpoint);
      if (checkpoint.conversation !== null) this.#hosts.meanwhile(checkpoint.conversation);
    }
  }

  async #take(run: RunId): Promise<void> {
    const { process, cloister } = this.#hosts.any();
    await this.#ask(process.no, `a checkpoint of ${run}`, () => cloister.checkpoints.create(run));
  }

  async #goBack(what: 'restore' | 'branch', { id, run }: { readonly id: string; readonly run: RunId }): Promise<void> {
    const hosted = this.#hosts.hosting(run);
    const { opened } = hosted;
    const { process, cloister } = opened;
    const session = await this.#ask(process.no, `${what} ${id} of ${run}`, async () =>
      what === 'restore' ? cloister.checkpoints.restore(id) : (await cloister.checkpoints.branch(id)).session,
    );
    if (session && process.alive) this.#hosts.follow(opened, session);
    else this.#hosts.careSoon();
    hosted.leave();
  }

  async #ask<T>(process: number, what: string, work: () => Promise<T>): Promise<T | undefined> {
    const { trace, faults, askings } = this.#world;
    trace.note(`process ${process} is asked for ${what}`);
    const kind = what.split(' ')[what.startsWith('a ') ? 1 : 0];
    try {
      const made = await work();
      faults.count(`kept: ${kind}`);
      askings.push({ process, what, code: null, said: '' });
      return made;
    } catch (error) {
      const code = codeOf(error);
      trace.note(`process ${process} cannot: ${what}: ${String(error)}`);
      faults.count(`${kind} refused: ${code}`);
      askings.push({ process, what, code, said: String(error) });
      return undefined;
    }
  }
}
