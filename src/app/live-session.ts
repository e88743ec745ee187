// The handle that a caller has on a run: events to iterate, an outcome to await, a way to cancel.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type {
  AgentMessage,
  Answer,
  Frame,
  Ids,
  LiveEvent,
  LiveAgent,
  Mail,
  OutsideSpawn,
  ProtocolEvent,
  RouteChoice,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  RunEvent,
  RunOutcome,
  RunLog,
  RunSession,
  StartedAgent,
  MessageTarget,
  Store,
  TaskSpec,
  TeamMessage,
  TeamSession,
} from '#contracts';
import { projectEvents, protocolEvents } from '#core/audit';
import type { Run } from '#core/orchestration';
import { checkRunCommand } from './check-run-command.ts';
import { checkOptionType, checkOptions } from './conversations/check-options.ts';
import { EarlyCommands, earlyCommands } from './early-commands.ts';
import type { EarlyCommandPorts } from './early-commands.ts';
import { noMemory, readOnlyTasks } from './team-view.ts';
import { followAnswer } from './follow-answer.ts';
import { FrameReader, abortableIterator } from './frame-reader.ts';
import type { FrameFold } from './frame-reader.ts';
import { followMessages, followTopic, isToOutside, OutsideMessages } from './outside-messages.ts';

export type LiveSessionPorts = {
  readonly store: Store;
  /** The frames that the run continues from. */
  readonly past: readonly Frame[];
  root(): Pick<EarlyCommandPorts, 'agent' | 'resident'>;
  readonly ids: Ids;
};

export class LiveSession implements TeamSession {
  readonly run: RunId;
  readonly outcome: Promise<RunOutcome>;
  readonly #ports: LiveSessionPorts;
  #live: Run | undefined;
  #log: RunLog | undefined;
  #early: EarlyCommands | undefined;
  #readers: Set<FrameReader<RunEvent>> | undefined;
  /** Readers of something other than events. */
  #followers: Set<Pick<FrameReader<unknown>, 'frame' | 'end'>> | undefined;
  #outside: OutsideMessages | undefined;
  /** Resolves when the run has started, or never will. */
  #startSettled: PromiseWithResolvers<void> | undefined;
  #framesSeen: number;
  cancelled = false;
  #ended = false;

  /** `follow` runs to the end. It must not start before the next microtask, so that iterators can be created first. */
  constructor(run: RunId, ports: LiveSessionPorts, follow: (session: LiveSession) => Promise<RunOutcome>) {
    this.run = run;
    this.#ports = ports;
    this.#framesSeen = ports.past.length;
    // probe: message-load
    for (const frame of ports.past) this.#followOutside(frame);
    this.outcome = follow(this);
    // A caller that awaits the outcome, or iterates to the end, gets the rejection; a caller that does neither must not crash.
    this.outcome.catch(() => undefined);
  }

  /** Connects the started run. */
  attach(live: Run, log: RunLog): void {
    this.#live = live;
    this.#log = log;
    const early = this.#early;
    this.#early = undefined;
    // If the run was cancelled before it started, no agent is left to receive anything.
    for (const command of early?.queue ?? []) if (!this.cancelled || command.do === 'confirm') live.do(command);
    this.#startSettled?.resolve();
  }

  /** No more events will come. */
  end(): void {
    this.#ended = true;
    this.#startSettled?.resolve();
    for (const reader of this.#readers ?? []) reader.end();
    for (const follower of this.#followers ?? []) follower.end();
    this.#outside?.end();
  }

  /** A run starts shortly after it was requested; nothing is recorded before that. Rejects if that failed, also after the end. */
  durable(): Promise<void> | undefined {
    if (this.#log !== undefined) return this.#log.durable();
    return this.#ended ? undefined : this.#durableOnceStarted();
  }

  async #durableOnceStarted(): Promise<void> {
    await (this.#startSettled ??= Promise.withResolvers<void>()).promise;
    await this.durable();
  }

  get hasReaders(): boolean {
    return this.#readers !== undefined && this.#readers.size > 0;
  }

  get resident(): boolean {
    return this.#ports.root().resident;
  }

  do<K extends RunCommandName>(command: RunCommand<K>): RunCommandResults[K] {
    checkRunCommand(command, this.#ports.root().agent);
    const asked = command as RunCommand;
    if (asked.do === 'cancel') this.cancelled = true;
    else if (asked.do === 'confirm') this.#checkWaiting(asked.message);
    else this.#assertLive();
    if (this.#live !== undefined) return this.#live.do(command);
    return earlyCommands[command.do]((this.#early ??= this.#openEarly()), command);
  }

  #checkWaiting(message: string): void {
    if (this.#outside?.has(message) !== true)
      throw new CloisterError('mail_unknown', `No message "${message.slice(0, 80)}" waits to be confirmed.`);
  }

  #assertLive(): void {
    if (this.#ended || this.cancelled)
      throw new CloisterError('cell_ended', `Run ${this.run} ${this.#ended ? 'has ended' : 'was cancelled'}.`);
  }

  /** Created on first use: of ten thousand runs in flight, most are left alone until they have started. */
  #openEarly(): EarlyCommands {
    const { ids } = this.#ports;
    return new EarlyCommands({ run: this.run, ids, ...this.#ports.root(), started: () => this.#started() });
  }

  cancel(): void {
    this.do({ do: 'cancel' });
  }

  addContext(text: string): void {
    this.do({ do: 'add-context', text });
  }

  refreshShare(child: string): number {
    return this.do({ do: 'refresh-share', child });
  }

  send(text: string, target: MessageTarget = {}): string {
    checkOptions(target, { to: 'name', topic: 'name' });
    return this.do({ do: 'send', text, ...target });
  }

  async answer(message?: string, options: NonNullable<Parameters<RunSession['answer']>[1]> = {}): Promise<Answer> {
    checkOptions(options, { signal: 'signal', confirm: 'flag' });
    const { signal, confirm = true } = options;
    const isEarly = this.#early?.messages.some(({ id }) => id === message) === true;
    const fold = followAnswer(message ?? null);
    const claim = this.#openOutside().claim(fold);
    const reader = this.#addFollower(claim);
    const stop = (): void => reader.close();
    if (signal?.aborted === true) stop();
    signal?.addEventListener('abort', stop, { once: true });
    try {
      for await (const found of this.#follow(reader)) {
        if (found === caughtUp) {
          if (message !== undefined && !isEarly && !fold.isMessageKnown)
            throw new CloisterError('mail_unknown', `Run ${this.run} has no message "${message.slice(0, 80)}".`);
        } else if ('noAnswer' in found) throw new CloisterError('cell_ended', found.noAnswer);
        else {
          await this.durable();
          if (confirm) this.confirm(found.id);
          return found;
        }
      }
    } finally {
      signal?.removeEventListener('abort', stop);
    }
    claim.leave();
    if (signal?.aborted === true) throw new CloisterError('cancelled');
    const { status, failure } = await this.outcome;
    const detail = `Run ${this.run} ended (${status}) without answering the message.`;
    throw new CloisterError(failure?.code ?? 'cell_ended', failure?.detail ? `${detail} ${failure.detail}` : detail);
  }

  ask(text: string, { to }: { readonly to?: string } = {}): Promise<Answer> {
    return this.answer(this.send(text, to === undefined ? {} : { to }));
  }

  messages(): AsyncIterable<AgentMessage> {
    const reader = this.#addFollower(followMessages(), () => this.#readRecorded());
    const items = this.#handOut(reader, this.#follow(reader), (id) => this.#openOutside().isWaiting(id));
    return abortableIterator(items, () => this.#removeFollower(reader));
  }

  confirm(message: string): void {
    checkOptionType('message', message, 'text');
    if (this.#outside?.has(message) === true) this.do({ do: 'confirm', message });
  }

  /** Only what is in the log, to a reader that is still there. Asking for the next item, or leaving, confirms the one before. */
  async *#handOut<T extends { readonly id: string }>(
    reader: FrameReader<T>,
    items: AsyncGenerator<T | typeof caughtUp>,
    isDue: (id: string) => boolean | Promise<boolean> = () => true,
  ): AsyncGenerator<T> {
    for await (const item of items) {
      if (item === caughtUp) continue;
      await this.durable();
      if (!(await isDue(item.id)) || reader.closed) continue;
      try {
        // probe: message-hand-out
        yield item;
      } finally {
        this.confirm(item.id);
      }
    }
  }

  subscribe(topic: string): AsyncIterable<Mail> {
    this.do({ do: 'forward-topic', topic });
    const reader = this.#addFollower(followTopic(topic));
    reader.catchUp([]);
    return abortableIterator(this.#handOut(reader, this.#itemsOf(reader)), () => this.#removeFollower(reader));
  }

  route(from: string, to: string | readonly string[], choice: RouteChoice): number {
    checkOptionType('choice', choice, 'options');
    return this.do({ do: 'route', ...choice, from, to: typeof to === 'string' ? [to] : to });
  }

  agents(): readonly LiveAgent[] {
    return this.#live === undefined || this.#ended || this.cancelled ? [] : this.#live.agents();
  }

  async spawn(request: OutsideSpawn): Promise<StartedAgent> {
    checkOptionType('options', request, 'options');
    return this.do({ do: 'spawn', ...request });
  }

  finish(name?: string): void {
    this.do({ do: 'finish', name });
  }

  async *protocol(): AsyncGenerator<ProtocolEvent> {
    for await (const event of this.#follow(this.#addFollower(protocolEvents()))) if (event !== caughtUp) yield event;
  }

  get queue(): TeamSession['queue'] {
    return readOnlyTasks(this.#live?.team?.queue);
  }

  get sharedMemory(): TeamSession['sharedMemory'] {
    return this.#live?.team?.memory ?? noMemory;
  }

  getMessages(assignee: string): readonly TeamMessage[] {
    checkOptionType('assignee', assignee, 'name');
    return this.#live?.team?.mail.getMessages(assignee) ?? [];
  }

  async addTasks(tasks: readonly TaskSpec[]): Promise<void> {
    return this.do({ do: 'add-tasks', tasks });
  }

  /** A run starts shortly after it was requested. */
  async #started(): Promise<Run> {
    await (this.#startSettled ??= Promise.withResolvers<void>()).promise;
    this.#assertLive();
    return this.#live!;
  }

  #openOutside(): OutsideMessages {
    return (this.#outside ??= new OutsideMessages());
  }

  #followOutside(frame: Frame): void {
    if (this.#outside !== undefined || frame.contents?.some(isToOutside) === true) this.#openOutside().frame(frame);
  }

  #addFollower<T>(fold: FrameFold<T>, readRecorded?: () => Promise<readonly Frame[]>): FrameReader<T> {
    const reader = new FrameReader(fold, readRecorded);
    (this.#followers ??= new Set()).add(reader);
    return reader;
  }

  #removeFollower<T>(reader: FrameReader<T>): void {
    reader.close();
    this.#followers?.delete(reader);
  }

  /** Yields the items of recorded frames, then `caughtUp`, then new items. */
  async *#follow<T>(reader: FrameReader<T>): AsyncGenerator<T | typeof caughtUp> {
    try {
      reader.catchUp(this.#framesSeen === 0 ? [] : await this.#readRecorded());
      yield caughtUp;
      yield* this.#itemsOf(reader);
    } finally {
      this.#followers?.delete(reader);
    }
  }

  async *#itemsOf<T>(reader: FrameReader<T>): AsyncGenerator<T> {
    try {
      if (this.#ended) reader.end();
      yield* reader.items();
    } finally {
      this.#followers?.delete(reader);
    }
  }

  onFrame(frame: Frame): void {
    this.#framesSeen = frame.no + 1;
    this.#followOutside(frame);
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

  /** Frames recorded before a reader came. Waits for frames that are not on disk yet; they would otherwise be missed. */
  async #readRecorded(): Promise<readonly Frame[]> {
    if (!this.#ended) await this.durable();
    return this.#ports.store.read(this.run);
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    const reader = new FrameReader<RunEvent>(projectEvents(), () => this.#readRecorded());
    return abortableIterator(this.#eventsFor(reader), () => {
      reader.close();
      this.#readers?.delete(reader);
    });
  }

  async *#eventsFor(reader: FrameReader<RunEvent>): AsyncGenerator<RunEvent> {
    const readers = (this.#readers ??= new Set());
    readers.add(reader);
    try {
      reader.catchUp(this.#framesSeen === 0 ? [] : await this.#readRecorded());
      if (this.#ended) reader.end();
      yield* reader.items();
      if (!reader.closed) await this.outcome;
    } finally {
      readers.delete(reader);
    }
  }
}

/** Separates recorded items from new ones: an answer may have arrived before the caller waits for it. */
const caughtUp = Symbol('caught up');
