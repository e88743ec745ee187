// Runs that are running in this process.
import { CloisterError, PromptlyReleasingMap } from '#base';
import type { RunId } from '#base';
import { checkOptions, parseRunId } from '#base/shapes';
import type {
  Cloister,
  DurableEvent,
  ObserveOptions,
  RunLog,
  RunOptions,
  RunOutcome,
  RunPorts,
  SharedRunPorts,
  Store,
  TeamSession,
} from '#contracts';
import { resumeRun, startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import type { AgentList } from './agent-list.ts';
import { EarliestTimer } from './earliest-timer.ts';
import { RunSignals } from './run-signals.ts';
import { LocalRunResources } from './run-resources.ts';
import type { IdleSources } from './run-resources.ts';
import { RemoteSession } from './remote-session.ts';
import { RunObserver } from './run-observer.ts';
import { LocalRunSession } from './run-session.ts';
import type { RunHost } from './run-session.ts';
import { isAutosaved } from './run-start.ts';
import type { RunStart } from './run-start.ts';
import { sharedRunPorts } from './shared-ports.ts';
import type { SharedPorts } from './shared-ports.ts';

export class Runs {
  /** For all of its runs. */
  readonly timer: EarliestTimer;
  readonly #shared: SharedPorts;
  readonly #ports: SharedRunPorts;
  readonly #host: RunHost;
  readonly #live = new PromptlyReleasingMap<RunId, LocalRunSession>();
  /** Runs that are being opened. */
  readonly #opening = new Set<Promise<unknown>>();
  readonly #observers = new Set<RunObserver>();
  /** When tool servers of cells that wait for people are closed. */
  readonly #idle: IdleSources;
  readonly #signals: RunSignals;
  readonly #onStart: (session: TeamSession) => void;
  #closed = false;

  constructor(
    shared: SharedPorts,
    agents: AgentList,
    autosave: RunHost['autosave'],
    onStart: (session: TeamSession) => void = () => undefined,
  ) {
    this.#onStart = onStart;
    const { store, ids, clock, serverIdleMs = serverIdleMsDefault } = shared;
    this.timer = new EarliestTimer(clock);
    this.#shared = shared;
    this.#idle = { timer: this.timer, clock, serverIdleMs };
    this.#ports = sharedRunPorts(shared, agents);
    this.#signals = new RunSignals(shared, agents);
    this.#host = { store, ids, autosave, runToEnd: (session, start) => this.#runToEnd(session, start) };
  }

  /** The id that is asked for, or a new one. Throws `run_owned`: the session here would be forgotten, and nobody could stop it. */
  idFor(only: RunOptions['only']): RunId {
    if (only === undefined) return this.#host.ids.random() as RunId;
    const run = parseRunId(only.run);
    if (this.#live.get(run) !== undefined) throw new CloisterError('run_owned', 'Owner: this process.');
    return run;
  }

  start(run: RunId, start: RunStart, signal?: AbortSignal): TeamSession {
    if (this.#closed) throw new CloisterError('store_failed', 'This Cloister is closed.');
    const session = new LocalRunSession(run, start, this.#host);
    this.#live.set(run, session);
    for (const observer of this.#observers) observer.add(session);
    if (signal !== undefined) followSignal(session, signal);
    this.#onStart(session);
    return session;
  }

  /** All runs of this process: those that are running, and those that are started from now on. */
  observe(options: ObserveOptions): AsyncIterableIterator<DurableEvent> {
    if (this.#closed) throw new CloisterError('store_failed', 'This Cloister is closed.');
    const { store } = this.#shared;
    // What could not be recorded fails its own run. An observer is told what is in the log.
    const recorded = (run: RunId): Promise<void> => this.durable(run).catch(() => undefined);
    const logs = {
      read: (run: RunId) => recorded(run).then(() => store.read(run)),
      blobsOf: (run: RunId) => ({ getBlob: (ref: string) => recorded(run).then(() => store.getBlob(ref)) }),
    };
    const observer = new RunObserver(options, logs, () => this.#observers.delete(observer));
    this.#observers.add(observer);
    for (const session of this.#live.values()) observer.add(session);
    return observer.events();
  }

  /** A run of this process. Throws `cell_ended`. */
  find(run: RunId): TeamSession {
    const session = this.#live.get(run);
    if (session !== undefined) return session;
    throw new CloisterError(
      'cell_ended',
      `Run ${run} is not running in this process: it has ended, or another process owns it.`,
    );
  }

  /** The run, if it is live in this process. */
  live(run: RunId): LocalRunSession | undefined {
    return this.#live.get(run);
  }

  /** Reads a run, whichever process owns it. */
  follow(run: RunId, options: Parameters<Cloister['follow']>[1] = {}): RemoteSession {
    checkOptions(options, { onInterrupted: 'any' });
    return new RemoteSession(run, { ...this.#shared, signal: (...signal) => this.signal(...signal, {}) }, options);
  }

  /** Asks something of a run, whichever process owns it. */
  signal(...signal: Parameters<RunSignals['put']>): ReturnType<RunSignals['put']> {
    return this.#signals.put(...signal);
  }

  /** Resolves when everything recorded so far is durable; immediately if the run is not running in this process. */
  async durable(run: RunId): Promise<void> {
    await this.#live.get(run)?.durable();
  }

  /** Makes `close` wait for this session to open. */
  async opening<T>(session: Promise<T>): Promise<T> {
    this.#opening.add(session);
    try {
      return await session;
    } finally {
      this.#opening.delete(session);
    }
  }

  /** Cancels the runs that are still running, except those that wait for people, and waits for them. */
  async close(): Promise<void> {
    this.#closed = true;
    // Whoever answers, or resumes it, continues a run that waits for people.
    for (const session of this.#live.values()) if (!session.leave()) session.cancel();
    // Runs that are still being opened fail, because this is closed now.
    await Promise.allSettled(this.#opening);
    const live = this.#live.values();
    for (const session of live) if (!session.leave()) session.cancel();
    await Promise.allSettled(live.map((session) => session.outcome));
    for (const observer of this.#observers) observer.end();
  }

  async #runToEnd(session: LocalRunSession, start: RunStart): Promise<RunOutcome> {
    const { run } = session;
    try {
      const log = await (start.log ?? this.#shared.store.acquireRun(run));
      const outcome = await this.#runOwned(log, session, start);
      await this.#signals.end(run);
      return outcome;
    } finally {
      this.#signals.close(run);
      session.end();
      this.#live.delete(run);
      if (isAutosaved(start)) this.#host.autosave.end(run);
    }
  }

  async #runOwned(log: RunLog, session: LocalRunSession, start: RunStart): Promise<RunOutcome> {
    const { run } = session;
    try {
      if ('isOnly' in start && start.isOnly === true) await checkNew(this.#shared.store, run);
      if ('blobs' in start && start.blobs !== undefined) await this.#storeFiles(start.blobs);
      this.#signals.open(session, 'recorded' in start ? (start.signals ?? []) : []);
      return await this.#runOn(log, session, start);
    } finally {
      await log.close();
    }
  }

  #expireAt(time: number, session: LocalRunSession, expire: () => void): () => void {
    let takeBack = this.#idle.timer.at(time, () => {
      // probe: expires-when-admitted
      takeBack = session.whenAdmitted(expire);
    });
    return () => takeBack();
  }

  async #storeFiles(blobs: readonly Uint8Array[]): Promise<void> {
    for (const bytes of blobs) await this.#shared.store.putBlob(bytes);
  }

  async #runOn(log: RunLog, session: LocalRunSession, start: RunStart): Promise<RunOutcome> {
    const { run } = session;
    const { stalls, clock } = this.#shared;
    // probe: run-resources
    const own = start.resources;
    const resources = new LocalRunResources(own, this.#idle);
    const ports: RunPorts = {
      ...this.#ports,
      run,
      log,
      resources,
      ownVariables: start.ownVariables,
      wasAtRest: 'recorded' in start ? start.wasAtRest : undefined,
      redactFor: (agent, models) => own.redactFor(agent, models),
      stalls: stalls?.meterFor(run),
      listener: session,
      expiries: { at: (time, expire) => this.#expireAt(time, session, expire) },
    };
    try {
      const live = startOrResume(start, ports);
      // probe: run-attach
      session.attach(live, log);
      return { ...(await live.outcome), run, cell: live.root.cellId };
    } finally {
      await resources.whenClosed(clock);
    }
  }
}

/** How long tool servers of a cell that waits for people stay open. */
const serverIdleMsDefault = 5 * 60_000;

const startOrResume = (start: RunStart, ports: RunPorts): Run =>
  'recorded' in start ? resumeRun(start, ports) : startRun(start.agent, start.goal, start.budget, ports, start);

const followSignal = (session: LocalRunSession, signal: AbortSignal): void => {
  if (signal.aborted) return session.cancel();
  const cancel = (): void => session.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  const forget = (): void => signal.removeEventListener('abort', cancel);
  session.outcome.then(forget, forget);
};

/** Whoever owns a run is the only one that can begin its log. Rejects with `run_exists`. */
const checkNew = async (store: Pick<Store, 'list'>, run: RunId): Promise<void> => {
  if ((await store.list({ runs: [run] })).length > 0) throw new CloisterError('run_exists', `Run ${run}.`);
};
