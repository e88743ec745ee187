// Tasks that are added to a team while it works: checked at once, by whoever adds them, and taken in when their letter is.
import { CloisterError, extractJson, decodeMessage } from '#base';
import type { Mail, TaskSpec } from '#contracts';
import type { Cell } from '#core/cells';
import { readTasks } from '#core/tasks';
import type { KnownTasks, TaskQueue } from '#core/tasks';

export class TaskIntake {
  readonly #cell: Cell;
  readonly #queue: TaskQueue;
  /** Ids of those that have not been taken in; null until somebody adds some. */
  #coming: Set<string> | null = null;
  readonly #begun = Promise.withResolvers<void>();
  isOpen = false;

  constructor(cell: Cell, queue: TaskQueue) {
    this.#cell = cell;
    this.#queue = queue;
  }

  /** The tasks that it begins with are known. `isOpen`: it takes more. */
  begin(isOpen: boolean): void {
    this.isOpen = isOpen;
    this.#begun.resolve();
  }

  /** When more can be added, or never can: after a crash, once it has come to where the log ends. */
  async ready(): Promise<void> {
    await this.#begun.promise;
    const { runtime } = this.#cell;
    const isBehind = (): boolean => this.isOpen && !runtime.halted && runtime.nextFrame < runtime.liveRun.nextFrame;
    // What is recorded settles without anything of the world.
    for (let turns = 0; turns < turnsMax && isBehind(); turns++) await Promise.resolve();
  }

  /** Throws what is wrong with them, or that it is too late. */
  check(specs: unknown): readonly TaskSpec[] {
    if (!this.isOpen || this.#box()?.closing === true)
      throw new CloisterError('cell_ended', 'The team takes no more tasks: it has come to its end.');
    const assignees = Object.keys(this.#cell.agent.team!.members);
    const tasks = readTasks(specs, this.known(), { assignees, allowAll: true });
    for (const { id } of tasks) this.#known().add(id);
    return tasks;
  }

  /** The tasks of a letter. */
  open(text: string): readonly TaskSpec[] {
    const specs = specsIn(text);
    for (const { id = '' } of specs) this.#coming?.delete(id);
    return specs;
  }

  /** Whether a message is such a letter. */
  isOne({ agent_id: sender, recipient_id: reader }: Mail): boolean {
    return sender === null && reader === this.#cell.agent.name;
  }

  /** The tasks that the team has, and those that are on their way. */
  known(): KnownTasks {
    const coming = this.#known();
    return {
      size: this.#queue.size + coming.size,
      has: (id) => this.#queue.get(id) !== undefined || coming.has(id),
      keys: () => [...[...this.#queue.tasks()].map(({ id }) => id), ...coming],
      depthOf: () => 0,
    };
  }

  #known(): Set<string> {
    return (this.#coming ??= new Set(this.#inTheBox()));
  }

  /** Ids of tasks in letters that nobody has read: after a crash they lie there. */
  #inTheBox(): readonly string[] {
    const { arrivals } = this.#cell.runtime;
    return (this.#box()?.unread ?? []).flatMap(({ seq, from }) => {
      const content = from === 'outside' ? arrivals.at(seq)?.content : undefined;
      const mail = content === undefined ? null : (decodeMessage(content) as Mail);
      return mail === null || !this.isOne(mail) ? [] : specsIn(mail.text).map(({ id = '' }) => id);
    });
  }

  #box() {
    const { liveRun, cellId } = this.#cell.runtime;
    return liveRun.post.directory.get(cellId)?.box;
  }
}

const turnsMax = 10_000_000;

const specsIn = (text: string): readonly TaskSpec[] => extractJson(text) as unknown as readonly TaskSpec[];
