// A run as its caller holds it: events to iterate, an outcome to await, a way to cancel.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type {
  Answer,
  Frame,
  LiveEvent,
  LiveAgent,
  Mail,
  ProtocolEvent,
  RouteChoice,
  RunEvent,
  RunOutcome,
  RunLog,
  MessageTarget,
  Store,
  Task,
  TaskSpec,
  TeamMessage,
  TeamSession,
} from '#contracts';
import { projectEvents, protocolEvents } from '#core/audit';
import type { RunHandle } from '#core/orchestration';
import { checkOptionTypes, checkGivenContext, checkOptions } from './conversations/check-options.ts';
import { followAnswer } from './follow-answer.ts';
import { FrameReader, abortableIterator } from './frame-reader.ts';
import type { Fold } from './frame-reader.ts';
import { followTopic, SessionMail } from './session-mail.ts';
import type { DrawNext, MailControls, SessionMailPorts } from './session-mail.ts';

type Controls = Pick<RunHandle, 'cancel' | 'give' | 'refreshShare' | 'addTasks' | 'messagesFor' | 'team'> &
  MailControls;

/** What a session is made of. */
export type LiveSessionPorts = {
  readonly store: Store;
  readonly framesSeen: number;
  mail(): Omit<SessionMailPorts, 'run'>;
};

export class LiveSession implements TeamSession {
  readonly run: RunId;
  readonly outcome: Promise<RunOutcome>;
  readonly #of: LiveSessionPorts;
  #live: Controls | undefined;
  #log: RunLog | undefined;
  /** What was given before it began. */
  #early: string[] | undefined;
  #readers: Set<FrameReader<RunEvent>> | undefined;
  /** Those who read something else than events. */
  #followers: Set<Pick<FrameReader<unknown>, 'frame' | 'end'>> | undefined;
  #mail: SessionMail | undefined;
  /** Told when it is under way, or will never be. */
  #begun: PromiseWithResolvers<void> | undefined;
  #framesSeen: number;
  cancelled = false;
  #over = false;

  /** `follow` runs to the end; it must not begin before the next microtask, so that iterators can be made first. */
  constructor(run: RunId, of: LiveSessionPorts, follow: (session: LiveSession) => Promise<RunOutcome>) {
    this.run = run;
    this.#of = of;
    this.#framesSeen = of.framesSeen;
    this.outcome = follow(this);
    // Whoever awaits it, or iterates to the end, hears of a failure; nobody has to.
    this.outcome.catch(ignored);
  }

  /** The run itself, once it is under way. */
  attach(live: Controls, log: RunLog, drawNext: DrawNext): void {
    this.#live = live;
    this.#log = log;
    const early = this.#early ?? [];
    this.#early = undefined;
    // It may have been cancelled before it began: then nobody is left to know.
    if (!this.cancelled) for (const text of early) live.give(text);
    if (!this.cancelled) this.#mail?.attach(live, drawNext);
    this.#begun?.resolve();
  }

  /** No more events will come. */
  end(): void {
    this.#over = true;
    this.#begun?.resolve();
    for (const reader of this.#readers ?? []) reader.end();
    for (const follower of this.#followers ?? []) follower.end();
  }

  /** It begins a moment after it was asked for; before that nothing is recorded. */
  durable(): Promise<void> | undefined {
    if (this.#over) return undefined;
    return this.#log === undefined ? this.#whenBegun() : this.#log.durable();
  }

  async #whenBegun(): Promise<void> {
    await (this.#begun ??= Promise.withResolvers<void>()).promise;
    await this.durable();
  }

  get heard(): boolean {
    return this.#readers !== undefined && this.#readers.size > 0;
  }

  get resident(): boolean {
    return this.#of.mail().resident;
  }

  cancel(): void {
    this.cancelled = true;
    this.#live?.cancel();
  }

  give(text: string): void {
    checkGivenContext(text);
    if (this.#over) throw new CloisterError('cell_ended', `Run ${this.run} has ended.`);
    if (this.#live === undefined) (this.#early ??= []).push(text);
    else this.#live.give(text);
  }

  refreshShare(child: string): number {
    checkOptionTypes('child', child, 'name');
    if (this.#live !== undefined && !this.#over) return this.#live.refreshShare(child);
    throw new CloisterError('cell_ended', `Run ${this.run} ${this.#over ? 'has ended' : 'has not begun'}.`);
  }

  send(text: string, sending?: MessageTarget): string {
    return this.#post().send(text, sending);
  }

  async answer(message?: string, options: { readonly signal?: AbortSignal } = {}): Promise<Answer> {
    checkOptions(options, { signal: 'signal' });
    const { signal } = options;
    const isEarly = message !== undefined && this.#mail?.isEarly(message) === true;
    const fold = followAnswer(message ?? null);
    const reader = this.#reading(fold);
    const leave = (): void => reader.close();
    if (signal?.aborted === true) leave();
    signal?.addEventListener('abort', leave, { once: true });
    try {
      for await (const found of this.#follow(reader)) {
        if (found === caughtUp) {
          if (message !== undefined && !isEarly && !fold.known)
            throw new CloisterError('mail_unknown', `Run ${this.run} has no message "${message.slice(0, 80)}".`);
        } else if ('lost' in found) throw new CloisterError('cell_ended', found.lost);
        else return found;
      }
    } finally {
      signal?.removeEventListener('abort', leave);
    }
    if (signal?.aborted === true) throw new CloisterError('cancelled');
    const { status, failure } = await this.outcome;
    const words = `Run ${this.run} has ended (${status}) without an answer to it.`;
    throw new CloisterError(failure?.code ?? 'cell_ended', failure?.detail ? `${words} ${failure.detail}` : words);
  }

  ask(text: string, { to }: { readonly to?: string } = {}): Promise<Answer> {
    return this.answer(this.send(text, to === undefined ? {} : { to }));
  }

  subscribe(topic: string): AsyncIterable<Mail> {
    this.#post().hear(topic);
    const reader = this.#reading(followTopic(topic));
    reader.catchUp([]);
    return abortableIterator(this.#itemsOf(reader), () => {
      reader.close();
      this.#followers?.delete(reader);
    });
  }

  route(from: string, to: string | readonly string[], choice: RouteChoice): number {
    return this.#post().route(from, to, choice);
  }

  agents(): readonly LiveAgent[] {
    return this.#over || this.cancelled ? [] : this.#post().agents();
  }

  finish(name?: string): void {
    this.#post().finish(name);
  }

  async *protocol(): AsyncGenerator<ProtocolEvent> {
    for await (const event of this.#follow(this.#reading(protocolEvents()))) if (event !== caughtUp) yield event;
  }

  get queue(): TeamSession['queue'] {
    const queue = this.#live?.team?.queue;
    if (queue === undefined) return noTasks;
    // To look at: what a team does is its director's.
    return {
      get: (id) => queue.get(id),
      tasks: () => [...queue.tasks()],
      earliestUnstarted: (assignee) => queue.earliestUnstarted(assignee),
    };
  }

  get sharedMemory(): TeamSession['sharedMemory'] {
    return this.#live?.team?.memory ?? noMemory;
  }

  getMessages(assignee: string): readonly TeamMessage[] {
    checkOptionTypes('assignee', assignee, 'name');
    return this.#live?.messagesFor(assignee) ?? [];
  }

  async addTasks(tasks: readonly TaskSpec[]): Promise<void> {
    // It begins a moment after it was asked for.
    if (this.#live === undefined && !this.#over) await (this.#begun ??= Promise.withResolvers<void>()).promise;
    if (this.#live === undefined || this.#over || this.cancelled)
      throw new CloisterError('cell_ended', `Run ${this.run} ${this.#over ? 'has ended' : 'has not begun'}.`);
    await this.#live.addTasks(tasks);
  }

  /** Made when first needed: of ten thousand runs in flight most have no mail. */
  #post(): SessionMail {
    if (this.#over || this.cancelled)
      throw new CloisterError('cell_ended', `Run ${this.run} ${this.#over ? 'has ended' : 'was cancelled'}.`);
    return (this.#mail ??= new SessionMail({ run: this.run, ...this.#of.mail() }, this.#live));
  }

  #reading<T>(fold: Fold<T>): FrameReader<T> {
    const reader = new FrameReader(fold);
    (this.#followers ??= new Set()).add(reader);
    return reader;
  }

  /** What was written before, a mark, then what comes. */
  async *#follow<T>(reader: FrameReader<T>): AsyncGenerator<T | typeof caughtUp> {
    try {
      reader.catchUp(this.#framesSeen === 0 ? [] : await this.#past());
      yield caughtUp;
      yield* this.#itemsOf(reader);
    } finally {
      this.#followers?.delete(reader);
    }
  }

  async *#itemsOf<T>(reader: FrameReader<T>): AsyncGenerator<T> {
    try {
      if (this.#over) reader.end();
      yield* reader.items();
    } finally {
      this.#followers?.delete(reader);
    }
  }

  onFrame(frame: Frame): void {
    this.#framesSeen = frame.no + 1;
    if (this.#readers !== undefined) for (const reader of this.#readers) reader.frame(frame);
    if (this.#followers !== undefined) for (const follower of this.#followers) follower.frame(frame);
  }

  onLive(cell: CellId, agent: string, event: LiveEvent): void {
    if (this.#readers === undefined) return;
    const of = { run: this.run, cell, agent };
    const chars = 'text' in event ? event.text.length : 0;
    for (const reader of this.#readers)
      reader.pushLive({ ...event, ...of }, chars, () => ({ type: 'text-lag', ...of }));
  }

  /** What was written before a reader came; what is not on disk yet is waited for, or it would be in neither list. */
  async #past(): Promise<readonly Frame[]> {
    await this.durable();
    return this.#of.store.read(this.run);
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    const reader = new FrameReader<RunEvent>(projectEvents(), () => this.#past());
    return abortableIterator(this.#eventsFor(reader), () => {
      reader.close();
      this.#readers?.delete(reader);
    });
  }

  async *#eventsFor(reader: FrameReader<RunEvent>): AsyncGenerator<RunEvent> {
    const readers = (this.#readers ??= new Set());
    readers.add(reader);
    try {
      reader.catchUp(this.#framesSeen === 0 ? [] : await this.#past());
      if (this.#over) reader.end();
      yield* reader.items();
      if (!reader.closed) await this.outcome;
    } finally {
      readers.delete(reader);
    }
  }
}

const noTasks: TeamSession['queue'] = {
  get: () => undefined,
  tasks: (): Iterable<Task> => [],
  earliestUnstarted: () => undefined,
};
const noMemory: TeamSession['sharedMemory'] = { getSummary: () => '' };

const ignored = (): undefined => undefined;

/** The answer may have come before somebody asks for it: until here is what was there. */
const caughtUp = Symbol('caught up');
