// Commits batches one at a time, each in one round trip where it can be.
// If the connection breaks, a batch is sent again with the same number, until the database answers or patience ends; nobody is told before
// that.
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import type { Ack, Item } from './messages.ts';
import { commitQuery, decodeAnswer, encodeBatch } from './postgres-batch.ts';
import type { ChangeItem, EncodedBatch } from './postgres-batch.ts';
import type { Client } from 'pg';
import { applyChanges, lockChanges } from './postgres-changes.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { postgresError } from './postgres-error.ts';
import { patiently } from './postgres-link.ts';
import type { PostgresLink } from './postgres-link.ts';
import type { RunOwner } from './processes.ts';
import type { Thread, ThreadListener } from './writer.ts';

type PostgresWriterPorts = {
  readonly link: PostgresLink;
  readonly address: PostgresAddress;
  readonly self: RunOwner;
  readonly patienceMs: number;
  /** Called with the newest frame of each run that was committed. */
  onCommit(tails: ReadonlyMap<RunId, Tail>): void;
  /** Gives back everything that this process has in the database. */
  close(): Promise<void>;
};

/** Called by this name from the second time on, the statement is not parsed again. */
const statement = 'commit';

/** After this time without an answer the batch is sent again: the network may have lost it, or the answer. */
const [answerMs, changeMs] = [20_000, 600_000];

export const startPostgresWriter = (ports: PostgresWriterPorts, listener: ThreadListener): Thread => {
  const committer = new PostgresCommitter(ports);
  return {
    post(message) {
      if (message.type === 'close') void ports.close().then(() => listener.ended('The store is closed.'));
      else void committer.commit(message.items).then((ack) => listener.acknowledge(ack));
    },
    // A connection keeps the process alive while it is asked something.
    ref: () => undefined,
    unref: () => undefined,
  };
};

class PostgresCommitter {
  readonly #ports: PostgresWriterPorts;
  /** Of the runs that are owned. */
  readonly #tails = new Map<RunId, Tail>();
  /** Runs that may have been acquired by a batch whose answer never came: they are given back. */
  #doubtful: RunId[] = [];
  #transactions = 0;
  #number = 0;

  constructor(ports: PostgresWriterPorts) {
    this.#ports = ports;
  }

  /** Never rejects. */
  async commit(items: readonly Item[]): Promise<Ack> {
    const { address } = this.#ports;
    const transactions = ++this.#transactions;
    try {
      return { ...(await this.#write(items)), transactions };
    } catch (error) {
      const { code, detail = '' } = postgresError(error, address).failure;
      this.#forget(items);
      return { failure: { code, detail }, refused: [], broken: [], transactions };
    }
  }

  async #write(items: readonly Item[]): Promise<Omit<Ack, 'transactions'>> {
    const { link, patienceMs } = this.#ports;
    const quick = encodeBatch({ items, released: this.#doubtful }, this.#tails);
    const changes = items.filter((item) => item.do === 'record' || item.do === 'delete' || item.do === 'import');
    const params = [this.#ports.self.instance, ++this.#number, ...quick.params];
    if (quick.isEmpty && changes.length === 0) return { failure: null, refused: [], broken: quick.broken };
    const answer = await patiently(
      () =>
        changes.length === 0
          ? link.run((client) => commitQuick(client, params), answerMs)
          : link.run((client) => this.#commitChanges(client, params, changes), changeMs),
      patienceMs,
    );
    this.#doubtful = [];
    return this.#settle(quick, answer);
  }

  /** With everything else in the batch, in one transaction. */
  async #commitChanges(client: Client, params: readonly unknown[], changes: readonly ChangeItem[]): Promise<string> {
    await client.query('BEGIN');
    try {
      await client.query(lockChanges);
      const answer = JSON.parse(await commitQuick(client, params)) as Changed;
      // It had been committed before.
      if (answer.records === undefined) {
        Object.assign(answer, await applyChanges(client, changes, this.#ports.self));
        await client.query('UPDATE batches SET ack = $2 WHERE instance = $1', [params[0], JSON.stringify(answer)]);
      }
      await client.query('COMMIT');
      return JSON.stringify(answer);
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  #settle(quick: EncodedBatch, text: string): Omit<Ack, 'transactions'> {
    const { broken, owned, refused, signals, shared } = decodeAnswer(text, quick);
    const { records = [], changes = [] } = JSON.parse(text) as Changed;
    const lost = new Set(broken.map(({ run }) => run));
    const written = new Map([...quick.tails].filter(([run]) => !lost.has(run)));
    for (const [run, tail] of written) this.#tails.set(run, tail);
    for (const run of [...lost, ...quick.released]) this.#tails.delete(run);
    for (const { run, tail } of owned) this.#tails.set(run, tail);
    this.#ports.onCommit(written);
    return {
      failure: null,
      refused,
      broken,
      ...(owned.length === 0 ? {} : { owned: owned.map(({ run, epoch }) => ({ run, epoch })) }),
      ...(records.length === 0 ? {} : { records }),
      ...(signals.length === 0 ? {} : { signals }),
      ...(shared.length === 0 ? {} : { shared }),
      ...(changes.length === 0 ? {} : { changes }),
    };
  }

  #forget(items: readonly Item[]): void {
    for (const item of items) {
      if (item.do === 'frame') this.#tails.delete(item.run);
      if (item.do === 'own') this.#doubtful.push(item.run);
    }
  }
}

type Changed = Pick<Ack, 'records' | 'changes'>;

const commitQuick = async (client: Client, params: readonly unknown[]): Promise<string> => {
  const { rows } = await client.query<{ answer: string | null }>({
    name: statement,
    text: commitQuery,
    values: [...params],
  });
  return rows[0]?.answer ?? '{}';
};
