// The handle that a caller has on a run: commands, events to iterate, an outcome to await.
//
//   failed-log-ends-run. A run whose records cannot be written ends at once with that error, also if all of its agents only wait:
//       somebody can resume what was written.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import { checkOptionType, checkOptions } from '#base/shapes';
import type {
  AdmitWork,
  AgentMessage,
  Answer,
  Cause,
  Frame,
  Ids,
  LiveEvent,
  LiveAgent,
  Mail,
  ProtocolEvent,
  QuestionReport,
  RouteChoice,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  RunEvent,
  RunListener,
  RunOutcome,
  RunLog,
  RunSession,
  MessageTarget,
  Store,
  TaskSpec,
  TeamMessage,
  TeamSession,
  Transcript,
  TranscriptOptions,
  WaitingCall,
} from '#contracts';
import { reportQuestions } from '#core/events';
import type { Run } from '#core/orchestration';
import { readRunCommand, routeFields, spawnFields } from './check-run-command.ts';
import { carryOutEarly, EarlyCommands, earlyCommands } from './early-commands.ts';
import { followKeyedMessages } from './keyed-messages.ts';
import type { KeyedMessages } from './keyed-messages.ts';
import { keepAfterEnd } from './run-after-end.ts';
import { receiveAnswer } from './mail-answer.ts';
import { abortableIterator } from './frame-reader.ts';
import { handOut } from './hand-out.ts';
import { followMessages, followTopic, isToOutside, OutsideMessages } from './outside-messages.ts';
import { RunFeed } from './run-feed.ts';
import type { FrameListener } from './run-feed.ts';
import { PeopleWait } from './people-wait.ts';
import { readOnlyMemory, readOnlyTasks } from './read-only-team.ts';
import { isAutosaved, mayGetReaders, pastFrames, startsResident } from './run-start.ts';
import type { RunStart } from './run-start.ts';

/** What runs share. */
export type RunHost = {
  readonly store: Store;
  readonly ids: Ids;
  /** Notified about runs that are autosaved. */
  readonly autosave: { touch(run: RunId): void; end(run: RunId): void };
  /** Must not start before the next microtask, so that iterators can be created first. */
  runToEnd(session: LocalRunSession, start: RunStart): Promise<RunOutcome>;
};

export class LocalRunSession implements TeamSession, RunListener {
  readonly run: RunId;
  readonly outcome: Promise<RunOutcome>;
  readonly #start: RunStart;
  readonly #host: RunHost;
  /** Undefined before it has started, and once it has ended. */
  live: Run | undefined;
  #afterEnd: ReturnType<typeof keepAfterEnd> | undefined;
  #log: RunLog | undefined;
  // Created on first use: of ten thousand runs in flight, most are left alone.
  #early: EarlyCommands | undefined;
  #feed: RunFeed | undefined;
  #outside: OutsideMessages | undefined;
  #keyed: KeyedMessages | undefined;
  /** Resolves when the run has started, or never will. */
  #startSettled: PromiseWithResolvers<void> | undefined;
  cancelled = false;
  /** Called after each frame. No session continues before what it does at once, or in its next microtask. */
  afterFrame: (() => void) | undefined;
  /** The number of the newest durable frame. */
  committed = -1;
  ended = false;
  #people: PeopleWait | undefined;

  constructor(run: RunId, start: RunStart, host: RunHost) {
    this.run = run;
    this.#start = start;
    this.#host = host;
    // probe: message-load
    for (const frame of pastFrames(start)) this.#followMessages(frame);
    this.outcome = host.runToEnd(this, start);
    // A caller that awaits the outcome, or iterates to the end, gets the rejection; a caller that does neither must not crash.
    this.outcome.catch(() => undefined);
  }

  /** Connects the started run. */
  attach(live: Run, log: RunLog): void {
    [this.live, this.#log] = [live, log];
    if (log.onCommit === undefined) this.#commit(Infinity);
    else log.onCommit((newest) => this.#commit(newest));
    // An agent that waits for messages would notice nothing.
    // probe: failed-log-ends-run
    log.onFailure?.((error) => live.markBroken(error));
    const early = this.#early;
    this.#early = undefined;
    // If the run was cancelled before it started, no agent is left to receive anything.
    for (const command of early?.queue ?? [])
      if (!this.cancelled || command.do === 'confirm') carryOutEarly(live, command);
    this.#startSettled?.resolve();
  }

  #commit(newest: number): void {
    this.committed = newest;
    this.#feed?.release();
  }

  /** No more events will come. */
  end(): void {
    this.ended = true;
    this.#startSettled?.resolve();
    this.#feed?.end();
    this.#outside?.end();
    this.#afterEnd = this.live && keepAfterEnd(this.live);
    this.live = undefined;
  }

  /** A run starts shortly after it was requested; nothing is recorded before that. Rejects if that failed, also after the end. */
  async durable(): Promise<void> {
    if (this.#log === undefined && !this.ended) await (this.#startSettled ??= Promise.withResolvers<void>()).promise;
    // probe: durable-without-log
    await (this.#log === undefined ? this.outcome : this.#log.durable());
  }

  get resident(): boolean {
    return startsResident(this.#start);
  }

  do<K extends RunCommandName>(given: RunCommand<K>): RunCommandResults[K] {
    const command = readRunCommand(given, this.#start.agent);
    const asked = command as RunCommand;
    // probe: message-sent-before
    if (asked.do === 'send' && this.#keyed?.has(asked.id) === true) return asked.id as RunCommandResults[K];
    if (asked.do === 'cancel') this.cancelled = true;
    else if (asked.do === 'confirm') this.#openOutside().check(asked.message);
    else this.#assertLive();
    const live = this.live;
    if (live === undefined) return earlyCommands[command.do]((this.#early ??= this.#openEarly()), command);
    if (asked.do !== 'answer' || this.#people === undefined) return live.do(command);
    return this.#people.admitted(() => live.do(asked)) as RunCommandResults[K];
  }

  #assertLive(): void {
    if (this.ended || this.cancelled)
      throw new CloisterError('cell_ended', `Run ${this.run} ${this.ended ? 'has ended' : 'was cancelled'}.`);
  }

  #openEarly(): EarlyCommands {
    const { run, resident } = this;
    const { agent } = this.#start;
    return new EarlyCommands({ run, agent, resident, ids: this.#host.ids, started: () => this.#started() });
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
    return this.do({ ...target, do: 'send', text });
  }

  async answer(message?: string, options: NonNullable<Parameters<RunSession['answer']>[1]> = {}): Promise<Answer> {
    if (message !== undefined) checkOptionType('message', message, 'text');
    checkOptions(options, { signal: 'signal', confirm: 'flag' });
    const { signal, confirm = true } = options;
    const isEarly = this.#early?.messages.some(({ id }) => id === message) === true;
    const ports = { feed: this.#openFeed(), outside: this.#openOutside() };
    const answer = await receiveAnswer(this, ports, { message, isEarly, signal });
    if (confirm) this.confirm(answer.id);
    return answer;
  }

  ask(text: string, options: { readonly to?: string } = {}): Promise<Answer> {
    checkOptions(options, { to: 'name' });
    return this.answer(this.send(text, options));
  }

  messages(): AsyncIterable<AgentMessage> {
    const feed = this.#openFeed();
    const reader = feed.open(followMessages(), true);
    const items = handOut(this, reader, feed.follow(reader), (id) => this.#openOutside().isWaiting(id));
    return abortableIterator(items, () => feed.leave(reader));
  }

  confirm(message: string): void {
    checkOptionType('message', message, 'text');
    if (this.#outside?.has(message) === true) this.do({ do: 'confirm', message });
  }

  subscribe(topic: string): AsyncIterable<Mail> {
    this.do({ do: 'forward-topic', topic });
    const feed = this.#openFeed();
    const reader = feed.open(followTopic(topic));
    reader.catchUp([]);
    return abortableIterator(handOut(this, reader, feed.items(reader)), () => feed.leave(reader));
  }

  route(from: string, to: string | readonly string[], choice: RouteChoice): number {
    checkOptionType('choice', choice, 'options');
    checkOptions(choice, routeFields);
    return this.do({ ...choice, do: 'route', from, to: typeof to === 'string' ? [to] : to });
  }

  agents(): readonly LiveAgent[] {
    return this.live === undefined || this.ended || this.cancelled ? [] : this.live.agents();
  }

  async spawn(request: Parameters<RunSession['spawn']>[0]): ReturnType<RunSession['spawn']> {
    checkOptionType('options', request, 'options');
    checkOptions(request, spawnFields);
    return this.do({ ...request, do: 'spawn' });
  }

  finish(name?: string): void {
    this.do({ do: 'finish', name });
  }

  protocol(): AsyncGenerator<ProtocolEvent> {
    return this.#openFeed().protocol();
  }

  get queue(): TeamSession['queue'] {
    return readOnlyTasks((this.live ?? this.#afterEnd)?.team?.queue);
  }

  get sharedMemory(): TeamSession['sharedMemory'] {
    return readOnlyMemory((this.live ?? this.#afterEnd)?.team?.memory);
  }

  getMessages(assignee: string): readonly TeamMessage[] {
    checkOptionType('assignee', assignee, 'name');
    return (this.live ?? this.#afterEnd)?.team?.mail.getMessages(assignee) ?? [];
  }

  async addTasks(tasks: readonly TaskSpec[]): Promise<void> {
    return this.do({ do: 'add-tasks', tasks });
  }

  /** A run starts shortly after it was requested. */
  async #started(): Promise<Run> {
    await (this.#startSettled ??= Promise.withResolvers<void>()).promise;
    this.#assertLive();
    return this.live!;
  }

  #openOutside(): OutsideMessages {
    return (this.#outside ??= new OutsideMessages());
  }

  #followMessages(frame: Frame): void {
    this.#keyed = followKeyedMessages(this.#keyed, frame);
    if (this.#outside !== undefined || frame.contents?.some(isToOutside) === true) this.#openOutside().frame(frame);
  }

  #openFeed(): RunFeed {
    return (this.#feed ??= new RunFeed(this, this.#host.store.live));
  }

  onFrame(frame: Frame): void {
    this.#followMessages(frame);
    this.#feed?.frame(frame);
    if (isAutosaved(this.#start)) this.#host.autosave.touch(this.run);
    this.afterFrame?.();
  }

  onPause(paused: boolean): void {
    const wait = (this.#people ??= new PeopleWait()).set(paused, () => this.durable());
    // Nobody could see the question, and nothing else in the run would notice.
    wait.catch((error: CloisterError) => this.live?.markBroken(error));
  }

  get waitsForPeople(): boolean {
    return this.#people?.waits === true;
  }

  admitWith(admit: AdmitWork): void {
    (this.#people ??= new PeopleWait()).admit = admit;
  }

  /** Ends a wait for people, once the run may work. Returns a function that takes it back. */
  whenAdmitted(act: () => void): () => void {
    return (this.#people ??= new PeopleWait()).whenAdmitted(act);
  }

  onWaiting(listener: (waits: boolean) => void): () => void {
    return (this.#people ??= new PeopleWait()).listen(listener);
  }

  leave(): boolean {
    if (!this.waitsForPeople || this.live === undefined || this.ended) return false;
    // Nothing more is written, and its cells stop: as after a crash, but with nothing in flight.
    this.live.markBroken(new CloisterError('approval_needed', `Run ${this.run} waits for people.`));
    return true;
  }

  /** Nothing more is recorded here, although the run has not ended. */
  get isBroken(): boolean {
    return ((this.live ?? this.#afterEnd)?.broken ?? null) !== null;
  }

  /** It takes no more commands: it was left, was cancelled, or has ended. */
  get isStopping(): boolean {
    return this.isBroken || this.cancelled || this.ended;
  }

  async questions(): Promise<readonly QuestionReport[]> {
    return reportQuestions(await this.readRecorded()).filter(({ state, why }) => state === 'open' && why !== 'client');
  }

  async clientCalls(): Promise<readonly WaitingCall[]> {
    if (this.ended || this.cancelled) return [];
    return (this.live ?? (await this.#started())).clientCalls();
  }

  onLive(cell: CellId, agent: string, event: LiveEvent): void {
    this.#openFeed().live(cell, agent, event);
  }

  /** Of a served run also while nobody reads: a reader who comes in the middle of a text is told its beginning. */
  get hasLiveListeners(): boolean {
    return mayGetReaders(this.#start) || this.hasEventReaders || this.#host.store.live?.isFollowed(this.run) === true;
  }

  get hasEventReaders(): boolean {
    return this.#feed?.hasEventReaders === true;
  }

  get hasFrames(): boolean {
    return (this.live ?? this.#afterEnd) !== undefined || 'recorded' in this.#start;
  }

  async readRecorded(): Promise<readonly Frame[]> {
    if (!this.ended) await this.durable();
    return this.#host.store.read(this.run);
  }

  async getBlob(ref: string): Promise<Uint8Array> {
    if (!this.ended) await this.durable();
    return this.#host.store.getBlob(ref);
  }

  listen(listener: FrameListener): () => void {
    return this.#openFeed().listen(listener);
  }

  events(options?: Parameters<RunSession['events']>[0]): AsyncIterable<RunEvent> {
    return this.#openFeed().eventsWith(this.outcome, options);
  }

  transcript(options?: TranscriptOptions): Promise<Transcript> {
    return this.#openFeed().transcript(options);
  }

  causes(options?: Parameters<RunSession['causes']>[0]): Promise<readonly Cause[]> {
    return this.#openFeed().causes(options);
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    return this.#openFeed().events(this.outcome, 'contents');
  }
}
