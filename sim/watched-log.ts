// The log of a run as one process writes it. Records which frames were appended and which were acknowledged as durable.
import type { CloisterError, RunId } from '#base';
import type { Frame, RunLog } from '#contracts';
import type { Writing } from './history.ts';
import { never } from './never.ts';
import type { QuestionRecord } from './plan.ts';
import { endsWait } from './slot-gate.ts';
import type { World } from './world.ts';

/** The process that writes. */
type Writer = { readonly no: number; readonly alive: boolean; readonly world: World; touch(place: string): boolean };

export class WatchedLog implements RunLog {
  readonly #process: Writer;
  readonly #inner: RunLog;
  readonly #writing: Writing;
  /** The operations that ask, by cell. */
  readonly #asks = new Set<string>();
  #onFailure: (error: CloisterError) => void = () => undefined;
  /** Absent where a run is owned for as long as its process lives. */
  readonly stillOwned?: () => Promise<void> | undefined;

  constructor(process: Writer, run: RunId, inner: RunLog) {
    this.#process = process;
    this.#inner = inner;
    const { world } = process;
    if (world.plan.leases !== null)
      this.stillOwned = () => (process.touch('still owned') ? inner.stillOwned?.() : never());
    this.#writing = {
      process: process.no,
      run,
      ownedAt: world.now,
      releasedAt: null,
      begunAt: null,
      closedAt: null,
      frames: [],
      acknowledged: 0,
      early: 0,
      failedAt: null,
    };
    inner.onFailure?.((error) => {
      if (!process.alive) return;
      this.#writing.failedAt ??= world.now;
      this.#onFailure(error);
    });
    if (process.alive) world.writings.push(this.#writing);
  }

  append(frame: Frame): void {
    const about = questionRecord(frame, this.#asks);
    if (!this.#process.touch(about === null ? 'append' : `append ${about}`)) return;
    this.#writing.frames.push(frame);
    this.#inner.append(frame);
    const { world, no } = this.#process;
    this.#writing.begunAt ??= world.now;
    if (frame.record.type === 'close') this.#writing.closedAt ??= world.now;
    if (about === 'ask') world.onQuestion(no, frame);
    if (endsWait(frame)) world.onWaitEnd(no, frame);
    if (about === 'call' && 'birth' in frame.record && frame.record.birth !== undefined)
      world.onAllowedAgent?.(frame.run);
    for (const watcher of world.watchers)
      if (
        watcher.process === no &&
        watcher.run === frame.run &&
        watcher.record === frame.record.type &&
        --watcher.nth === 0
      )
        watcher.due();
  }

  durable(): Promise<void> | undefined {
    if (!this.#process.touch('durable')) return never();
    const frames = this.#writing.frames.length;
    const durable = this.#inner.durable();
    if (durable === undefined) {
      this.#acknowledge(frames);
      return undefined;
    }
    const told = durable.then(() => this.#acknowledge(frames));
    told.catch(() => undefined);
    return told;
  }

  onCommit(listener: (newest: number) => void): void {
    this.#inner.onCommit?.((newest) => {
      if (!this.#process.alive) return;
      this.#acknowledge(this.#writing.frames.filter(({ no }) => no <= newest).length);
      listener(newest);
    });
  }

  onFailure(listener: (error: CloisterError) => void): void {
    this.#onFailure = listener;
  }

  close(): Promise<void> {
    if (!this.#process.touch('release')) return never();
    this.#writing.releasedAt ??= this.#process.world.now;
    return this.#inner.close();
  }

  #acknowledge(frames: number): void {
    const { alive, world } = this.#process;
    const writing = this.#writing;
    if (!alive || frames <= writing.acknowledged) return;
    const last = writing.frames[frames - 1]!;
    writing.early += Math.max(0, last.no + 1 - world.disk.length(writing.run));
    writing.acknowledged = frames;
  }
}

/** Which record of a marked call it is. `asks`: the operations of this process that ask. */
const questionRecord = ({ cell, record }: Frame, asks: Set<string>): QuestionRecord | null => {
  if (record.type === 'ruling') return 'ruling';
  if (record.type === 'settle') return asks.has(`${cell}/${record.op}`) ? 'answered' : null;
  if (record.type !== 'begin') return null;
  if (record.do !== 'ask') return record.about?.['ask'] === undefined ? null : 'call';
  asks.add(`${cell}/${record.op}`);
  return 'ask';
};
