// Restate: a server that keeps calls, and pushes them to workers over HTTP/2.
//
//   object-per-run. A run is the key of an object of its agent, so Restate makes one call of it at a time; others wait until that has ended.
//   nothing-in-the-journal. A call drives the run first and notes afterwards what is to happen later. If it is made again, the run is
//       driven again, and the store decides what there is to do.
//   no-limit-on-calls. Restate ends no call because it is silent: a run works for hours, and its worker would not stop.
import { createServer } from 'node:http2';
import type { ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type * as restateModule from '@restatedev/restate-sdk';
import { CloisterError, Semaphore } from '#base';
import type { RunId } from '#base';
import { object, problemsIn, whole } from '#base/shapes';
import type { DriveEnd, EngineWorker, RunCall, RunEngine, StopWork } from '#contracts';
import { loadPackage } from './load-package.ts';
import { lostMs, refusalMs } from './retry-times.ts';

type Restate = typeof restateModule;
type Again = { readonly refusals: number };

const againShape = object({ refusals: whole() });

type RestateAddress = {
  /** Where calls are sent to. */
  readonly ingress: string;
  readonly admin: string;
  /** Where this worker listens, and how Restate reaches it: through a balancer, if there are several. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly reach: string | null;
};

/** `restate://host:8080?admin=9070&listen=0.0.0.0:9080&reach=http://balancer:9080`. Throws `engine_failed`. */
export const parseRestateAddress = (url: string): RestateAddress => {
  try {
    const { host, hostname, searchParams } = new URL(url.replace(/^restate:/u, 'http:'));
    const listen = new URL(`http://${searchParams.get('listen') ?? '127.0.0.1:0'}`);
    const admin = searchParams.get('admin') ?? '9070';
    return {
      ingress: `http://${host}`,
      admin: admin.includes(':') ? `http://${admin.replace(/^http:\/\//u, '')}` : `http://${hostname}:${admin}`,
      listen: { host: listen.hostname, port: Number(listen.port) },
      reach: searchParams.get('reach'),
    };
  } catch {
    throw new CloisterError('engine_failed', 'Expected restate://host:port?admin=port&listen=host:port&reach=url.');
  }
};

export class RestateEngine implements RunEngine {
  readonly name = 'restate';
  readonly #address: RestateAddress;

  constructor(address: RestateAddress) {
    this.#address = address;
  }

  start(call: RunCall): Promise<void> {
    return this.#send(call, { 'idempotency-key': `${call.run} start` });
  }

  wake(call: RunCall, at?: number): Promise<void> {
    if (at === undefined) return this.#send(call, {});
    return this.#send(call, { 'idempotency-key': `${call.run} ${at}` }, Math.max(0, at - Date.now()));
  }

  async #send({ run, agent }: RunCall, headers: Readonly<Record<string, string>>, delayMs = 0): Promise<void> {
    const path = `/${serviceOf(agent)}/${encodeURIComponent(run)}/drive/send`;
    const delay = delayMs === 0 ? '' : `?delay=${Math.ceil(delayMs)}ms`;
    await post(`${this.#address.ingress}${path}${delay}`, { refusals: 0 } satisfies Again, headers);
  }

  async work(worker: EngineWorker): Promise<StopWork> {
    const restate = await loadPackage('@restatedev/restate-sdk', () => import('@restatedev/restate-sdk'));
    const calls = new Calls(worker);
    const services = worker.agents.map((agent) => serviceFor(restate, agent, calls));
    const handler = restate.createEndpointHandler({ services, bidirectional: true, logger: () => undefined });
    const server = createServer(handler);
    const sessions = new Set<ServerHttp2Session>();
    server.on('session', (session) => {
      sessions.add(session);
      session.on('close', () => sessions.delete(session));
      session.on('error', () => undefined);
    });
    const { host, port } = this.#address.listen;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    const own = `http://${host}:${(server.address() as AddressInfo).port}`;
    await this.#register(this.#address.reach ?? own);
    return async () => {
      await calls.stop();
      server.close();
      // Calls that come now are made again, to other workers.
      for (const session of sessions) session.destroy();
    };
  }

  /** Restate asks the worker at once, and a balancer takes a moment to notice a new one. */
  async #register(uri: string): Promise<void> {
    for (let tries = 1; ; tries++)
      try {
        return await post(`${this.#address.admin}/deployments`, { uri, force: true }, {});
      } catch (error) {
        if (tries === registerTries) throw error;
        await new Promise((resolve) => void setTimeout(resolve, registerAgainMs));
      }
  }

  async close(): Promise<void> {}
}

const serviceOf = (agent: string): string => `cloister.${agent}`;

/** The calls of one worker. */
class Calls {
  readonly #worker: EngineWorker;
  readonly #free: Semaphore;
  readonly #driving = new Set<Promise<unknown>>();
  #isStopped = false;

  constructor(worker: EngineWorker) {
    this.#worker = worker;
    this.#free = new Semaphore(worker.slots);
  }

  async drive(call: RunCall): Promise<DriveEnd> {
    await this.#free.acquire();
    try {
      if (this.#isStopped) return { end: 'lost' };
      const driving = this.#worker.drive(call);
      this.#driving.add(driving);
      return await driving.finally(() => this.#driving.delete(driving));
    } finally {
      this.#free.release();
    }
  }

  /** Also waits until Restate has been told how they ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#driving);
    await new Promise((resolve) => void setTimeout(resolve, toldMs));
  }
}

const [toldMs, registerTries, registerAgainMs] = [100, 20, 250];

const serviceFor = (restate: Restate, agent: string, calls: Calls) => {
  const service = serviceOf(agent);
  const drive = async (ctx: restateModule.ObjectContext, given: unknown): Promise<void> => {
    const again: Again = problemsIn(againShape, given).length === 0 ? (given as Again) : { refusals: 0 };
    const later = (ms: number, parameter: Again): void =>
      void ctx.genericSend({
        service,
        method: 'drive',
        key: ctx.key,
        parameter,
        delay: Math.max(0, Math.ceil(ms)),
        inputSerde: restate.serde.json as restateModule.Serde<Again>,
      });
    const end = await calls.drive({ run: ctx.key as RunId, agent });
    switch (end.end) {
      case 'ended':
        return;
      case 'rests':
        if (end.until !== null) later(end.until - (await ctx.date.now()), { refusals: 0 });
        return;
      case 'lost':
        return later(lostMs, { refusals: 0 });
      case 'refused': {
        const ms = refusalMs(again.refusals);
        if (ms !== null) later(ms, { refusals: again.refusals + 1 });
        return;
      }
      default:
        return end satisfies never;
    }
  };
  return restate.object({
    name: service,
    handlers: { drive },
    options: { inactivityTimeout: foreverMs, abortTimeout: foreverMs, journalRetention: 0 },
  });
};

/** A year. */
const foreverMs = 365 * 86_400_000;

const post = async (url: string, body: unknown, headers: Readonly<Record<string, string>>): Promise<void> => {
  const reply = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(answerMs),
  }).catch((error: unknown) => {
    throw new CloisterError('engine_failed', `Restate cannot be reached: ${String(error)}`);
  });
  const text = await reply.text();
  if (reply.status === 404)
    throw new CloisterError('engine_failed', `No worker of Restate has this agent. ${text.slice(0, 200)}`);
  if (!reply.ok) throw new CloisterError('engine_failed', `Restate answered ${reply.status}. ${text.slice(0, 200)}`);
};

const answerMs = 10_000;
