// Tasks that are added to a team while it works. They are checked when they are added, and queued when their message is read.
import { CloisterError, extractJson } from '#base';
import { decodeMail } from '#contracts';
import type { Agent, Mail, TaskSpec } from '#contracts';
import { parseTasks } from '#core/tasks';
import type { KnownTasks, TaskQueue } from '#core/tasks';

export class TaskIntake {
  readonly #team: Agent;
  readonly #queue: TaskQueue;
  /** Ids of added tasks that are not queued yet; null until tasks are added. */
  #pendingIds: Set<string> | null = null;
  readonly #started = Promise.withResolvers<void>();
  isOpen = false;

  constructor(team: Agent, queue: TaskQueue) {
    this.#team = team;
    this.#queue = queue;
  }

  /** Called when the first tasks are known. `isOpen`: the team accepts more. */
  start(isOpen: boolean): void {
    this.isOpen = isOpen;
    this.#started.resolve();
  }

  /** Resolves when it is known whether tasks can be added: after a crash, once the session has reached the end of the log. */
  async ready(isBehind: () => boolean): Promise<void> {
    await this.#started.promise;
    // Recorded operations settle without any outside event, so yielding to the event loop is enough.
    for (let turns = 0; turns < turnsMax && this.isOpen && isBehind(); turns++) await Promise.resolve();
  }

  /** Throws if the tasks are invalid or the team accepts no more. */
  check(specs: unknown, { closing, unread }: TeamMailbox): readonly TaskSpec[] {
    if (!this.isOpen || closing)
      throw new CloisterError('cell_ended', 'The team has finished and accepts no more tasks.');
    const pending = (this.#pendingIds ??= new Set(this.#unreadTaskIds(unread)));
    const assignees = Object.keys(this.#team.team!.rules.members);
    const tasks = parseTasks(specs, this.#knownTasks(pending), { assignees, allowAll: true });
    for (const { id } of tasks) pending.add(id);
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
    return sender === null && reader === this.#team.name;
  }

  /** The tasks in the queue and those still in messages. */
  #knownTasks(pending: ReadonlySet<string>): KnownTasks {
    return {
      size: this.#queue.size + pending.size,
      has: (id) => this.#queue.get(id) !== undefined || pending.has(id),
      keys: () => [...[...this.#queue.tasks()].map(({ id }) => id), ...pending],
      depthOf: () => 0,
    };
  }

  /** Ids of tasks in unread messages, which remain in the mailbox after a crash. */
  #unreadTaskIds(unread: readonly string[]): readonly string[] {
    return unread.flatMap((content) => {
      const mail = decodeMail(content);
      return this.isTaskMessage(mail) ? parseSpecs(mail.text).map(({ id = '' }) => id) : [];
    });
  }
}

/** The mailbox of a team: whether it is about to end, and its unread messages from outside. */
export type TeamMailbox = { readonly closing: boolean; readonly unread: readonly string[] };

const turnsMax = 10_000_000;

const parseSpecs = (text: string): readonly TaskSpec[] => extractJson(text) as unknown as readonly TaskSpec[];
