// Tasks that are added to a team while it works. They are checked when they are added, and queued when their message is read.
import { CloisterError, extractJson, decodeMessage } from '#base';
import type { Mail, TaskSpec } from '#contracts';
import type { Cell } from '#core/cells';
import { parseTasks } from '#core/tasks';
import type { KnownTasks, TaskQueue } from '#core/tasks';

export class TaskIntake {
  readonly #cell: Cell;
  readonly #queue: TaskQueue;
  /** Ids of added tasks that are not queued yet; null until tasks are added. */
  #pendingIds: Set<string> | null = null;
  readonly #started = Promise.withResolvers<void>();
  isOpen = false;

  constructor(cell: Cell, queue: TaskQueue) {
    this.#cell = cell;
    this.#queue = queue;
  }

  /** Called when the first tasks are known. `isOpen`: the team accepts more. */
  start(isOpen: boolean): void {
    this.isOpen = isOpen;
    this.#started.resolve();
  }

  /** Resolves when it is known whether tasks can be added: after a crash, once the session has reached the end of the log. */
  async ready(): Promise<void> {
    await this.#started.promise;
    const { runtime } = this.#cell;
    const isBehind = (): boolean => this.isOpen && !runtime.halted && runtime.nextFrame < runtime.liveRun.nextFrame;
    // Recorded operations settle without any outside event, so yielding to the event loop is enough.
    for (let turns = 0; turns < turnsMax && isBehind(); turns++) await Promise.resolve();
  }

  /** Throws if the tasks are invalid or the team accepts no more. */
  check(specs: unknown): readonly TaskSpec[] {
    if (!this.isOpen || this.#mailbox()?.closing === true)
      throw new CloisterError('cell_ended', 'The team has finished and accepts no more tasks.');
    const assignees = Object.keys(this.#cell.agent.team!.members);
    const tasks = parseTasks(specs, this.knownTasks(), { assignees, allowAll: true });
    for (const { id } of tasks) this.#knownTasks().add(id);
    return tasks;
  }

  /** The tasks in a message. */
  takeTasks(text: string): readonly TaskSpec[] {
    const specs = parseSpecs(text);
    for (const { id = '' } of specs) this.#pendingIds?.delete(id);
    return specs;
  }

  /** Whether a message contains added tasks. */
  isTaskMessage({ agent_id: sender, recipient_id: reader }: Mail): boolean {
    return sender === null && reader === this.#cell.agent.name;
  }

  /** The tasks in the queue and those still in messages. */
  knownTasks(): KnownTasks {
    const pending = this.#knownTasks();
    return {
      size: this.#queue.size + pending.size,
      has: (id) => this.#queue.get(id) !== undefined || pending.has(id),
      keys: () => [...[...this.#queue.tasks()].map(({ id }) => id), ...pending],
      depthOf: () => 0,
    };
  }

  #knownTasks(): Set<string> {
    return (this.#pendingIds ??= new Set(this.#unreadTaskIds()));
  }

  /** Ids of tasks in unread messages, which remain in the mailbox after a crash. */
  #unreadTaskIds(): readonly string[] {
    const { receivedCrossings } = this.#cell.runtime;
    return (this.#mailbox()?.unread ?? []).flatMap(({ seq, from }) => {
      const content = from === 'outside' ? receivedCrossings.at(seq)?.content : undefined;
      const mail = content === undefined ? null : (decodeMessage(content) as Mail);
      return mail === null || !this.isTaskMessage(mail) ? [] : parseSpecs(mail.text).map(({ id = '' }) => id);
    });
  }

  #mailbox() {
    const { liveRun, cellId } = this.#cell.runtime;
    return liveRun.mail.directory.get(cellId)?.mailbox;
  }
}

const turnsMax = 10_000_000;

const parseSpecs = (text: string): readonly TaskSpec[] => extractJson(text) as unknown as readonly TaskSpec[];
