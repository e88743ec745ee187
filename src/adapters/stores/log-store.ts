// A store over a log that a thread of its own writes and anyone reads.
//
//   Q1. `durable` settles only after the commit of the batch that carries the newest frame.
//   Q2. A failed batch fails every run that had frames in it, for good; no other run, and no later one.
//   Q3. Nothing is made before the first write.
import { CloisterError, isName, sha256 } from '#base';
import type { RunId } from '#base';
import type { Frame, RunLog, Store } from '#contracts';
import { appendRefusal } from './workspace-log.ts';
import type { LogReader } from './log-reader.ts';
import type { Ack, Item } from './messages.ts';
import { openWriter } from './writer.ts';
import type { Batch, Writer, WriterPorts } from './writer.ts';

export type LogStorePorts = WriterPorts & {
  readonly kind: Store['kind'];
  readonly path: string | null;
  readonly reader: LogReader;
  rebuild(run?: RunId): Promise<number>;
  /** When a page of the book is written. */
  now(): number;
};

export type LogStore = Store & {
  /** How many transactions its thread has tried. */
  transactions(): number;
};

export const openLogStore = (ports: LogStorePorts): LogStore => {
  const { kind, path, reader } = ports;
  const logs = new Map<RunId, WrittenRunLog>();
  const writer = openWriter(ports, (run, detail) => logs.get(run)?.fail(detail));
  let closing: Promise<void> | undefined;
  let pages = 0;

  const forget = (run: RunId): void => void logs.delete(run);
  const mustBeOpen = (): void => {
    if (closing !== undefined) throw new CloisterError('store_failed', 'The store is closed.');
  };
  const pause = async (): Promise<void> => {
    await new Promise<void>((resolve) => ports.defer(resolve));
    mustBeOpen();
  };
  const open = (): LogReader => {
    mustBeOpen();
    return reader;
  };
  const close = async (): Promise<void> => {
    // First the reader: the last connection to close folds the write-ahead log into the database.
    reader.close();
    await writer.close();
    for (const log of logs.values()) log.fail('The store is closed.');
    logs.clear();
  };

  return {
    kind,
    path,
    async acquireRun(run, { takeOver = false } = {}) {
      mustBeOpen();
      if (!isName(run)) throw new CloisterError('name_invalid', run);
      if (logs.has(run)) throw new CloisterError('run_owned', 'This process has it.');
      const log = new WrittenRunLog(run, writer, forget);
      logs.set(run, log);
      const ack = await writer.add(takeOver ? { do: 'own', run, takeOver } : { do: 'own', run }).done;
      const refused = ack.refused.find((refusal) => refusal.run === run);
      if (ack.failure === null && refused === undefined) return log;
      logs.delete(run);
      throw refused === undefined ? failureOf(ack) : new CloisterError('run_owned', refused.owner);
    },
    read: async (run) => readWhole(open(), run, pause),
    inspect: async (run) => open().inspect(run),
    list: async (which) => open().list(which),
    async rebuild(run) {
      mustBeOpen();
      return ports.rebuild(run);
    },
    async putBlob(bytes) {
      mustBeOpen();
      const ref = sha256(bytes);
      const ack = await writer.add({ do: 'blob', ref, bytes: new Uint8Array(bytes) }).done;
      if (ack.failure !== null) throw failureOf(ack);
      return ref;
    },
    getBlob: async (ref) => open().blob(ref),
    readWorkspaceLog: async () => open().book(),
    hashPrefix: async (run, frames) => open().cut(run, frames),
    async appendRecord(record, after) {
      mustBeOpen();
      const page = { do: 'page', key: pages++, at: ports.now(), record: JSON.stringify(record) } as const;
      return notePage(writer, after === undefined ? page : { ...page, after });
    },
    transactions: () => writer.transactions(),
    close: () => (closing ??= close()),
  };
};

const readWhole = async (reader: LogReader, run: RunId, pause: () => Promise<void>): Promise<readonly Frame[]> => {
  const { frames, problems } = await reader.inspectInPieces(run, pause);
  if (problems.length > 0) throw new CloisterError('store_damaged', problems.join('; '));
  return frames;
};

const notePage = async (writer: Writer, page: Extract<Item, { do: 'page' }>): Promise<number> => {
  // probe: page-written
  const ack = await writer.add(page).done;
  const noted = ack.pages?.find(({ key }) => key === page.key);
  if (ack.failure !== null || noted === undefined) throw failureOf(ack);
  if ('refused' in noted) throw appendRefusal(noted.refused);
  return noted.no;
};

/** A class for its weight: thousands of these are in flight at once. */
class WrittenRunLog implements RunLog {
  readonly #run: RunId;
  readonly #writer: Writer;
  readonly #forget: (run: RunId) => void;
  #newest: Batch | undefined;
  #waiting: { readonly batch: Batch; readonly promise: Promise<void> } | undefined;
  #failure: CloisterError | undefined;
  #closing: Promise<void> | undefined;

  constructor(run: RunId, writer: Writer, forget: (run: RunId) => void) {
    this.#run = run;
    this.#writer = writer;
    this.#forget = forget;
  }

  append(frame: Frame): void {
    if (this.#closing !== undefined) this.fail('A frame came after the run was given back.');
    if (this.#failure !== undefined) return;
    try {
      const body = JSON.stringify(frame);
      this.#newest = this.#writer.add({ do: 'frame', run: this.#run, no: frame.no, body });
    } catch (error) {
      this.fail(`Frame ${frame.no} is not JSON: ${String(error)}`);
    }
  }

  durable(): Promise<void> | undefined {
    const batch = this.#newest;
    if (this.#failure !== undefined) return quiet(Promise.reject(this.#failure));
    // probe: log-newest-answered
    if (batch === undefined || batch.ack !== undefined) return undefined;
    if (this.#waiting?.batch !== batch) this.#waiting = { batch, promise: quiet(this.#wait(batch)) };
    return this.#waiting.promise;
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#release());
  }

  /** From now on nothing more is written, and `durable` says why. */
  fail(detail: string): void {
    this.#failure ??= new CloisterError('store_failed', detail);
  }

  async #wait(batch: Batch): Promise<void> {
    await batch.done;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Rides with the last frames. A failed run is given back too: what was kept of it can be resumed. */
  async #release(): Promise<void> {
    const ack = await this.#writer.add({ do: 'release', run: this.#run }).done;
    this.#forget(this.#run);
    if (this.#failure !== undefined) throw this.#failure;
    if (ack.failure !== null) throw failureOf(ack);
  }
}

/** Nobody has to listen: a rejection without a listener must not end the process. */
const quiet = (promise: Promise<void>): Promise<void> => {
  promise.catch(() => {});
  return promise;
};

const failureOf = ({ failure }: Ack): CloisterError =>
  new CloisterError(failure?.code ?? 'store_failed', failure?.detail ?? '');
