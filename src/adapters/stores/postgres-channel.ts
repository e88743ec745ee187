// What processes of one database tell each other: that there are signals, that a run has new frames, and what is said live.
//
//   channel-only-hints. Whoever hears nothing loses nothing that was recorded: signals and frames are also looked for from time to time.
//   channel-only-if-followed. A process that follows a run says so every few seconds. Frames and live pieces of other runs are not told.
import type { JsonObject, RunId } from '#base';
import { framesMessages, interestMessages, liveMessages, parseMessage } from './postgres-messages.ts';
import type { Interest, LivePart } from './postgres-messages.ts';

type ChannelPorts = {
  /** This process. */
  readonly instance: string;
  /** Sends messages, in order. Connects if it must, and hears others from then on. Rejects if they may not have been sent. */
  send(messages: readonly string[]): Promise<void>;
  /** Whether signals wait in the database. */
  hasSignals(): Promise<boolean>;
  /** Steady milliseconds. */
  readonly now: () => number;
};

/** What somebody hears of a run. */
type Listener = { readonly what: Interest; readonly run: RunId; readonly hear: (piece: JsonObject | null) => void };

const [announceMs, interestMs, heardMs] = [1_000, 3_000, 100];

const [liveMs, silenceMs, reconnectMs] = [10, 10_000, 250];

/** So many characters of live pieces wait for a database that is slow; then some are dropped. */
const waitingCharsMax = 4_000_000;

export class PostgresChannel {
  readonly #ports: ChannelPorts;
  readonly #listeners = new Set<Listener>();
  readonly #watchers = new Set<() => void>();
  /** Until when somebody elsewhere follows a run. */
  readonly #interest = new Map<string, number>();
  /** Parts of long pieces, by sender and number. */
  readonly #parts = new Map<string, string[]>();
  #pieces: (readonly [RunId, string])[] = [];
  #newFrames = new Set<RunId>();
  #waitingChars = 0;
  #pieceIds = 0;
  #announcing: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #flushing = false;
  /** Whoever may be followed hears of it. */
  #isListening = false;

  constructor(ports: ChannelPorts) {
    this.#ports = ports;
  }

  /** Calls back when there may be signals. */
  watchSignals(notify: () => void): () => void {
    this.#watchers.add(notify);
    // Something may have come before it could be heard.
    this.#listenNow([], () => this.#lookForSignals());
    this.#looking ??= setInterval(() => this.catchUp(), silenceMs).unref();
    return () => {
      this.#watchers.delete(notify);
      if (this.#watchers.size > 0) return;
      clearInterval(this.#looking);
      this.#looking = undefined;
    };
  }

  /** `hear` gets pieces, or null for new frames. */
  follow(what: Interest, run: RunId, hear: Listener['hear']): () => void {
    const listener = { what, run, hear };
    this.#listeners.add(listener);
    const lookAgain = (): void => {
      if (what === 'frames' && this.#listeners.has(listener)) hear(null);
    };
    this.#listenNow(interestMessages(this.#ports.instance, [[what, run]]), () => {
      lookAgain();
      // By now the owner has heard of it.
      setTimeout(lookAgain, heardMs).unref();
    });
    this.#announcing ??= setInterval(() => this.#announce(), announceMs).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#announcing);
      this.#announcing = undefined;
    };
  }

  isFollowed(what: Interest, run: RunId): boolean {
    if (!this.#isListening) {
      this.#isListening = true;
      this.#listenNow([]);
    }
    const until = this.#interest.get(`${what} ${run}`);
    return until !== undefined && this.#ports.now() < until;
  }

  publish(run: RunId, piece: JsonObject): void {
    if (!this.isFollowed('live', run)) return;
    const text = JSON.stringify(piece);
    if (this.#waitingChars + text.length > waitingCharsMax) return;
    this.#waitingChars += text.length;
    this.#pieces.push([run, text]);
    this.#flushSoon();
  }

  /** These runs have new frames in the database. */
  tellFrames(runs: Iterable<RunId>): void {
    for (const run of runs) {
      this.#hear('frames', run, null);
      if (this.isFollowed('frames', run)) this.#newFrames.add(run);
    }
    if (this.#newFrames.size > 0) this.#flushSoon();
  }

  /** Something may have been missed. */
  catchUp(): void {
    this.#lookForSignals();
    for (const { what, hear } of this.#listeners) if (what === 'frames') hear(null);
    if (this.#listeners.size + this.#watchers.size > 0) this.#announce();
  }

  /** The connection broke: what comes meanwhile is missed. */
  reconnect(): void {
    if (this.#listeners.size + this.#watchers.size === 0) return;
    const again = (): void => {
      this.#ports.send([]).then(
        () => this.catchUp(),
        () => this.reconnect(),
      );
    };
    setTimeout(again, reconnectMs).unref();
  }

  receive(text: string): void {
    const message = parseMessage(text);
    if (message === undefined) return;
    if (message.is === 'signals') {
      for (const notify of this.#watchers) notify();
      return;
    }
    if (message.from === this.#ports.instance) return;
    switch (message.is) {
      case 'interest':
        for (const [what, run] of message.runs) this.#note(what, run);
        break;
      case 'frames':
        for (const run of message.runs) this.#hear('frames', run, null);
        break;
      case 'live':
        for (const [run, piece] of message.pieces) this.#hearPiece(run, piece);
        break;
      case 'part':
        this.#takePart(message.from, message.part);
        break;
    }
  }

  close(): void {
    this.#listeners.clear();
    this.#watchers.clear();
    clearInterval(this.#announcing);
    clearInterval(this.#looking);
  }

  #lookForSignals(): void {
    const tell = (isAny: boolean): void => {
      if (isAny) for (const notify of this.#watchers) notify();
    };
    if (this.#watchers.size > 0) this.#ports.hasSignals().then(tell, () => undefined);
  }

  #note(what: Interest, run: RunId): void {
    const now = this.#ports.now();
    const key = `${what} ${run}`;
    const isNew = !this.#interest.has(key);
    this.#interest.set(key, now + interestMs);
    if (!isNew) return;
    for (const [one, until] of this.#interest) if (until < now) this.#interest.delete(one);
  }

  #announce(): void {
    const runs = new Map([...this.#listeners].map(({ what, run }) => [`${what} ${run}`, [what, run] as const]));
    this.#listenNow(interestMessages(this.#ports.instance, [...runs.values()]));
  }

  /** Sending anything opens the connection that also hears. */
  #listenNow(messages: readonly string[], then: () => void = () => undefined): void {
    this.#ports.send(messages).then(then, () => undefined);
  }

  /** Gathered for a moment, so that a few words do not make a message each. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setTimeout(() => void this.#flush(), this.#newFrames.size > 0 ? 0 : liveMs).unref();
  }

  async #flush(): Promise<void> {
    const { instance } = this.#ports;
    const messages = [
      ...liveMessages(instance, this.#pieces, () => this.#pieceIds++),
      ...framesMessages(instance, [...this.#newFrames]),
    ];
    this.#pieces = [];
    this.#newFrames = new Set();
    this.#waitingChars = 0;
    // What is lost is found in the log once it is recorded.
    await this.#ports.send(messages).catch(() => undefined);
    this.#flushing = false;
    if (this.#pieces.length + this.#newFrames.size > 0) this.#flushSoon();
  }

  #takePart(from: string, { run, id, nth, of, text }: LivePart): void {
    const key = `${from} ${id}`;
    const parts = nth === 0 ? [] : this.#parts.get(key);
    // A part was missed.
    if (parts?.length !== nth) return void this.#parts.delete(key);
    parts.push(text);
    this.#parts.set(key, parts);
    if (parts.length < of) return;
    this.#parts.delete(key);
    this.#hearPiece(run, parts.join(''));
  }

  #hearPiece(run: RunId, text: string): void {
    try {
      this.#hear('live', run, JSON.parse(text) as JsonObject);
    } catch {
      // It was not said by one of us.
    }
  }

  #hear(what: Interest, run: RunId, piece: JsonObject | null): void {
    for (const one of this.#listeners) if (one.what === what && one.run === run) one.hear(piece);
  }
}
