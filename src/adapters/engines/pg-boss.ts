// pg-boss: a queue in PostgreSQL for each agent, from which workers take calls.
//
//   queue-per-agent. A worker takes only calls for agents that it has.
//   call-completes. Each call ends with one job; what is to happen later is a new job. So a job that is taken again is one whose worker died.
//   refused-elsewhere. A run that a worker refused is put back, later each time, and given up after a while: `reconcile` tells of it again.
import type * as pgBossModule from 'pg-boss';
import { CloisterError, Semaphore } from '#base';
import type { RunId } from '#base';
import { object, problemsIn, string, whole } from '#base/shapes';
import type { EngineWorker, RunCall, RunEngine, StopWork } from '#contracts';
import { loadPackage } from './load-package.ts';
import { lostMs, refusalMs } from './retry-times.ts';

type Boss = InstanceType<typeof pgBossModule.PgBoss>;
type CallJob = { readonly run: string; readonly agent: string; readonly refusals: number };

const callShape = object({ run: string(), agent: string(), refusals: whole() });

/** `url`: of a database, in which it makes a schema `pgboss`. Rejects with `engine_failed`. */
export const openPgBoss = async (url: string, report: (error: unknown) => void): Promise<RunEngine> => {
  const { PgBoss } = await loadPackage('pg-boss', () => import('pg-boss'));
  const boss = new PgBoss({
    connectionString: url,
    max: 4,
    // As often as it can look for workers that died.
    superviseIntervalSeconds: 1,
    monitorIntervalSeconds: 1,
    useListenNotify: true,
  });
  boss.on('error', report);
  try {
    await boss.start();
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => undefined);
    throw new CloisterError('engine_failed', `pg-boss: ${error instanceof Error ? error.message : String(error)}`);
  }
  return new PgBossEngine(boss);
};

class PgBossEngine implements RunEngine {
  readonly name = 'pg-boss';
  readonly #boss: Boss;
  readonly #queues = new Map<string, Promise<string>>();

  constructor(boss: Boss) {
    this.#boss = boss;
  }

  async start(call: RunCall): Promise<void> {
    await this.#send({ ...call, refusals: 0 }, 0, 'start');
  }

  async wake(call: RunCall, at = 0): Promise<void> {
    await this.#send({ ...call, refusals: 0 }, at, at === 0 ? 'wake' : `at-${at}`);
  }

  async work({ agents, slots, drive }: EngineWorker): Promise<StopWork> {
    const free = new Semaphore(slots);
    let isStopped = false;
    const workers: { readonly queue: string; readonly id: string }[] = [];
    const lost = Promise.resolve({ end: 'lost' } as const);
    const take = async (job: CallJob): Promise<void> => {
      if (problemsIn(callShape, job).length > 0) return;
      const call = { run: job.run as RunId, agent: job.agent };
      await free.acquire();
      // What is taken while the worker stops, and not driven any more, is for another one.
      const end = await (isStopped ? lost : drive(call)).finally(() => free.release());
      switch (end.end) {
        case 'ended':
          return;
        case 'rests':
          if (end.until !== null) await this.wake(call, end.until);
          return;
        case 'lost':
          return this.#send({ ...job, refusals: 0 }, Date.now() + lostMs, 'lost');
        case 'refused': {
          const ms = refusalMs(job.refusals);
          if (ms !== null) await this.#send({ ...job, refusals: job.refusals + 1 }, Date.now() + ms, 'refused');
          return;
        }
        default:
          return end satisfies never;
      }
    };
    for (const agent of agents) {
      const queue = await this.#queueOf(agent);
      const options = {
        localConcurrency: slots,
        pollingIntervalSeconds: 0.5,
        notifyPollingIntervalSeconds: Math.max(1, slots / 8),
      };
      const id = await this.#boss.work<CallJob>(queue, options, async ([job]) => {
        if (job !== undefined) await take(job.data);
      });
      workers.push({ queue, id });
    }
    return async () => {
      isStopped = true;
      await Promise.all(workers.map(({ queue, id }) => this.#boss.offWork(queue, { id, wait: true })));
    };
  }

  async close(): Promise<void> {
    await this.#boss.stop({ graceful: false, close: true });
  }

  /** While a job with the same key waits, another one is not needed. */
  async #send(job: CallJob, at: number, why: string): Promise<void> {
    const queue = await this.#queueOf(job.agent);
    const startAfter = at === 0 ? {} : { startAfter: new Date(at) };
    try {
      await this.#boss.send(queue, job, { singletonKey: `${job.run} ${why}`, ...startAfter });
    } catch (error) {
      throw new CloisterError('engine_failed', `pg-boss: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #queueOf(agent: string): Promise<string> {
    const found = this.#queues.get(agent);
    if (found !== undefined) return found;
    const queue = `cloister-${agent}`;
    const made = this.#boss.createQueue(queue, queueOptions).then(() => queue);
    this.#queues.set(agent, made);
    made.catch(() => this.#queues.delete(agent));
    return made;
  }
}

/** A job is taken again when its worker is silent, however often, and however long the run takes: who may drive is decided in the store. */
const queueOptions = {
  policy: 'short',
  notify: true,
  heartbeatSeconds: 10,
  expireInSeconds: 23 * 3600,
  retryLimit: 1_000_000,
  retryDelay: 0,
  deleteAfterSeconds: 60,
} as const;
