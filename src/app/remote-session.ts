// A run that is read wherever it works: from its log, which the store says more about as it grows, and from what is said live.
//
//   followed-like-local. Readers are served by the same feed as those of a run of this process, so they see the same, each event once and in
//       order, whichever process continues the run.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type {
  Answer,
  Cause,
  Clock,
  FollowedRun,
  Frame,
  LiveEvent,
  QuestionReport,
  RunCommand,
  RunEvent,
  RunOutcome,
  RunSession,
  Store,
  Transcript,
  TranscriptOptions,
  WaitingCall,
} from '#contracts';
import { Accounts, reportQuestions } from '#core/events';
import { FollowedPieces } from './followed-pieces.ts';
import { receiveAnswer } from './mail-answer.ts';
import { OutsideMessages } from './outside-messages.ts';
import { PeopleWait } from './people-wait.ts';
import { RunFeed } from './run-feed.ts';
import { SettledText } from './settled-text.ts';

type RemotePorts = {
  readonly store: Store;
  readonly clock: Clock;
  /** Asks something of the run's owner. */
  signal(run: RunId, command: RunCommand): Promise<unknown>;
};

export class RemoteSession implements FollowedRun {
  readonly run: RunId;
  readonly #ports: RemotePorts;
  readonly #feed: RunFeed;
  readonly #outside = new OutsideMessages();
  readonly #accounts = new Accounts();
  readonly #texts = new SettledText();
  readonly #people = new PeopleWait();
  readonly #end = Promise.withResolvers<RunOutcome>();
  readonly #onInterrupted: (() => void) | undefined;
  #loading: Promise<void> | undefined;
  /** The log as it was when it was read first, while memory allows. */
  #past: WeakRef<readonly Frame[]> | undefined;
  #root: CellId | undefined;
  #frames: AsyncIterator<readonly Frame[]> | undefined;
  #pieces: FollowedPieces | undefined;
  #stopTimer: () => void = () => undefined;
  /** How long nobody has owned the run. */
  #leftMs = 0;
  // What is followed is durable.
  readonly committed = Infinity;
  readonly hasFrames = true;
  ended = false;

  constructor(run: RunId, ports: RemotePorts, { onInterrupted }: { readonly onInterrupted?: () => void } = {}) {
    this.run = run;
    this.#ports = ports;
    this.#onInterrupted = onInterrupted;
    this.#feed = new RunFeed(this);
    this.#end.promise.catch(() => undefined);
  }

  get outcome(): Promise<RunOutcome> {
    void this.#load();
    return this.#end.promise;
  }

  events(options?: Parameters<RunSession['events']>[0]): AsyncIterable<RunEvent> {
    return this.#feed.eventsWith(this.outcome, options);
  }

  [Symbol.asyncIterator](): AsyncIterator<RunEvent> {
    return this.#feed.events(this.outcome, 'contents');
  }

  transcript(options?: TranscriptOptions): Promise<Transcript> {
    return this.#feed.transcript(options);
  }

  causes(options?: Parameters<RunSession['causes']>[0]): Promise<readonly Cause[]> {
    return this.#feed.causes(options);
  }

  async answer(message?: string, options: NonNullable<Parameters<RunSession['answer']>[1]> = {}): Promise<Answer> {
    const { signal, confirm = true } = options;
    if (message !== undefined) await this.#whenTaken(message, signal);
    await this.#load();
    const ports = { feed: this.#feed, outside: this.#outside };
    const answer = await receiveAnswer(this, ports, { message, isEarly: false, signal });
    if (confirm) this.confirm(answer.id);
    return answer;
  }

  /** At best effort, like the owner's own note of it: a message that is handed out twice has the same id. */
  confirm(message: string): void {
    if (this.#outside.has(message)) this.#ask({ do: 'confirm', message });
  }

  async questions(): Promise<readonly QuestionReport[]> {
    return this.#openQuestions((why) => why !== 'client');
  }

  async clientCalls(): Promise<readonly WaitingCall[]> {
    const calls = await this.#openQuestions((why) => why === 'client');
    return calls.map(({ id, tool: name, args, sha256 }) => ({ id, name, args, sha256 }));
  }

  get waitsForPeople(): boolean {
    return this.#people.waits;
  }

  onWaiting(listener: (waits: boolean) => void): () => void {
    return this.#people.listen(listener);
  }

  cancel(): void {
    this.#ask({ do: 'cancel' });
  }

  close(reason: CloisterError = new CloisterError('cell_ended', `Run ${this.run} is not followed any more.`)): void {
    if (this.ended) return;
    this.#end.reject(reason);
    this.#stop();
  }

  async readRecorded(): Promise<readonly Frame[]> {
    const known = await this.#load();
    return known ?? this.#ports.store.read(this.run);
  }

  getBlob(ref: string): Promise<Uint8Array> {
    return this.#ports.store.getBlob(ref);
  }

  #ask(command: RunCommand): void {
    this.#ports.signal(this.run, command).catch(() => undefined);
  }

  async #openQuestions(isAsked: (why: QuestionReport['why']) => boolean): Promise<readonly QuestionReport[]> {
    const frames = await this.#ports.store.read(this.run);
    return reportQuestions(frames).filter(({ state, why }) => state === 'open' && isAsked(why));
  }

  /** A message that was sent from here is in the log, or was refused, once its signal is gone. */
  async #whenTaken(message: string, signal: AbortSignal | undefined): Promise<void> {
    const { store, clock } = this.#ports;
    for (let ms = 20; ; ms = Math.min(2 * ms, 500)) {
      const isWaiting = (await store.signals(this.run)).some(({ id }) => id === message);
      if (!isWaiting || this.ended || signal?.aborted === true) {
        // The log that was read before may not have it, and what was appended since may not have been told yet.
        this.#past = undefined;
        return;
      }
      await new Promise<void>((resolve) => void clock.timer(ms, resolve));
    }
  }

  /** Reads what is there, and goes on from there. Returns the log if nothing has come since it was read. Never rejects. */
  async #load(): Promise<readonly Frame[] | undefined> {
    this.#loading ??= this.#open();
    await this.#loading;
    return this.#past?.deref();
  }

  async #open(): Promise<void> {
    const { store } = this.#ports;
    try {
      const past = await store.read(this.run);
      for (const frame of past) this.#fold(frame);
      this.#past = new WeakRef(past);
      if (this.ended) return;
      if (this.#isOver(past)) return this.#finish(past.at(-1)!);
      await this.#setWaits();
      this.#listen();
      this.#frames = store.follow(this.run, past.length)[Symbol.asyncIterator]();
      void this.#follow(this.#frames);
      this.#watchOwner();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #follow(batches: AsyncIterator<readonly Frame[]>): Promise<void> {
    try {
      for (;;) {
        const { done, value: frames } = await batches.next();
        if (done === true || this.ended) return;
        this.#past = undefined;
        this.#leftMs = 0;
        for (const frame of frames) {
          this.#tellText(this.#fold(frame));
          this.#feed.frame(frame);
          this.#pieces?.frame(frame);
        }
        if (this.#isOver(frames)) return this.#finish(frames.at(-1)!);
        await this.#setWaits();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #fold(frame: Frame): ReturnType<SettledText['next']> {
    this.#root ??= frame.cell;
    this.#accounts.next(frame);
    this.#outside.frame(frame);
    return this.#texts.next(frame);
  }

  /** Text that was not heard while it was written comes in one piece, in front of its record. */
  #tellText(settled: ReturnType<SettledText['next']>): void {
    if (settled === null || this.#pieces?.hears(settled.cell) === true) return;
    const { cell, agent, text } = settled;
    this.#feed.live(cell, agent, { type: 'text-reset' });
    this.#feed.live(cell, agent, { type: 'text-delta', text });
  }

  #isOver(frames: readonly Frame[]): boolean {
    return frames.at(-1)?.record.type === 'close';
  }

  #finish({ record, cell }: Frame): void {
    if (record.type === 'close') this.#end.resolve({ ...record.outcome, run: this.run, cell });
    this.#stop();
  }

  #fail(error: unknown): void {
    this.#end.reject(error);
    this.#stop();
  }

  #stop(): void {
    if (this.ended) return;
    this.ended = true;
    this.#stopTimer();
    this.#pieces?.close();
    this.#feed.end();
    this.#outside.end();
    void this.#frames?.return?.();
  }

  async #setWaits(): Promise<void> {
    const waits = this.#accounts.of(this.#root!)?.activity.isPaused === true;
    if (waits !== this.#people.waits) await this.#people.set(waits, () => Promise.resolve());
  }

  #listen(): void {
    const { live } = this.#ports.store;
    if (live === undefined) return;
    const pass = (cell: CellId, agent: string, event: LiveEvent): void => this.#feed.live(cell, agent, event);
    const from = this.#past?.deref()?.length ?? 0;
    this.#pieces = new FollowedPieces(from, pass, (hear) => live.subscribe(this.run, hear));
  }

  /** Nobody tells that a process has died. Whoever follows the run asks for somebody who continues it, and gives up after a while. */
  #watchOwner(): void {
    if (this.ended) return;
    this.#stopTimer = this.#ports.clock.timer(ownerMs, () => {
      void this.#lookForOwner().then(
        () => this.#watchOwner(),
        // The store cannot be read now; it may come back.
        () => this.#watchOwner(),
      );
    });
  }

  async #lookForOwner(): Promise<void> {
    const [summary] = await this.#ports.store.list({ runs: [this.run] });
    // A run that waits for people may be left until somebody answers.
    if (summary?.state !== 'interrupted' || this.waitsForPeople) {
      this.#leftMs = 0;
      return;
    }
    this.#onInterrupted?.();
    this.#leftMs += ownerMs;
    if (this.#leftMs < leftMsMax) return;
    this.close(new CloisterError('cell_ended', `Run ${this.run} was interrupted, and nobody has continued it.`));
  }
}

/** How often the owner is looked for, and how long a run may have none before its readers are sent away. */
const [ownerMs, leftMsMax] = [1_000, 30_000];
