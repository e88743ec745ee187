// Runs that are running in this process.
import { CloisterError, PromptlyReleasingMap } from '#base';
import type { RunId } from '#base';
import type {
  Agent,
  Budget,
  ConversationRef,
  Frame,
  History,
  InheritedFiles,
  RunLog,
  RunOutcome,
  TeamSession,
} from '#contracts';
import { resumeRun, startRun } from '#core/orchestration';
import type { Run, RunWorldPorts } from '#core/orchestration';
import type { AgentList } from './agent-list.ts';
import { LiveSession } from './live-session.ts';
import { RunWorld } from './run-world.ts';
import type { SharedPorts } from './run-world.ts';

/** A new run, or one to continue. */
export type RunStart = NewRun | { readonly log: RunLog; readonly frames: readonly Frame[]; readonly saved?: boolean };

export type NewRun = {
  readonly agent: Agent;
  /** Null: the run starts by waiting for messages. */
  readonly goal: string | null;
  /** The root is a resident: it runs until it is asked to finish. */
  readonly resident?: { readonly topics: readonly string[] } | undefined;
  readonly budget?: Budget | undefined;
  readonly history?: History | undefined;
  readonly files?: InheritedFiles | undefined;
  readonly conversation?: ConversationRef | undefined;
  readonly caller?: string | undefined;
  /** Set if the run is already owned. */
  readonly log?: RunLog;
};

/** Notified about runs that are autosaved. */
export type AutosaveHooks = { touch(run: RunId): void; end(run: RunId): void };

export class LiveRuns {
  readonly #shared: SharedPorts;
  readonly #agents: AgentList;
  readonly #autosave: AutosaveHooks;
  readonly #live = new PromptlyReleasingMap<RunId, LiveSession>();
  /** Runs that are being opened. */
  readonly #opening = new Set<Promise<unknown>>();
  #closed = false;

  constructor(shared: SharedPorts, agents: AgentList, autosave: AutosaveHooks) {
    this.#shared = shared;
    this.#agents = agents;
    this.#autosave = autosave;
  }

  start(run: RunId, start: RunStart, signal?: AbortSignal): TeamSession {
    if (this.#closed) throw new CloisterError('store_failed', 'This Cloister is closed.');
    const { store, ids } = this.#shared;
    const past = 'frames' in start ? start.frames : [];
    const root = () => this.#findRoot(start);
    const session = new LiveSession(run, { store, ids, past, root }, (live) => this.#runToEnd(live, start));
    this.#live.set(run, session);
    if (signal !== undefined) followSignal(session, signal);
    return session;
  }

  /** A run of this process. Throws `cell_ended`. */
  get(run: RunId): LiveSession {
    const session = this.#live.get(run);
    if (session !== undefined) return session;
    throw new CloisterError(
      'cell_ended',
      `Run ${run} is not running in this process: it has ended, or another process owns it.`,
    );
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

  /** Cancels the runs that are still running, and waits for them. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#live.values()) session.cancel();
    // Runs that are still being opened fail, because this is closed now.
    await Promise.allSettled(this.#opening);
    const live = this.#live.values();
    for (const session of live) session.cancel();
    await Promise.allSettled(live.map((session) => session.outcome));
  }

  async #runToEnd(session: LiveSession, start: RunStart): Promise<RunOutcome> {
    const { run } = session;
    try {
      const log = await (start.log ?? this.#shared.store.acquireRun(run));
      try {
        return await this.#runInWorld(session, start, log);
      } finally {
        await log.close();
      }
    } finally {
      session.end();
      this.#live.delete(run);
      if (isAutosaved(start)) this.#autosave.end(run);
    }
  }

  async #runInWorld(session: LiveSession, start: RunStart, log: RunLog): Promise<RunOutcome> {
    const autosave = isAutosaved(start) ? this.#autosave : undefined;
    const world = new RunWorld(session.run, log, { shared: this.#shared, agents: this.#agents, session, autosave });
    try {
      const live = this.#startOrResume(start, world);
      // probe: run-attach
      session.attach(live, log);
      return { ...(await live.outcome), run: session.run, cell: live.cell };
    } finally {
      await world.waitUntilClosed();
    }
  }

  #startOrResume(start: RunStart, world: RunWorldPorts): Run {
    if ('frames' in start) return resumeRun(start.frames, (name) => this.#agents.findInTree(name), world);
    const { agent, goal, budget, conversation, history, files, resident, caller } = start;
    return startRun(agent, goal, budget, world, { conversation, history, files, resident, caller });
  }

  #findRoot(start: RunStart): { readonly agent: Agent | undefined; readonly resident: boolean } {
    if (!('frames' in start)) return { agent: start.agent, resident: start.resident !== undefined };
    const record = start.frames[0]?.record;
    if (record?.type !== 'open') return { agent: undefined, resident: false };
    const { agent, spawned } = record.birth;
    return { agent: this.#agents.findInTree(agent), resident: spawned !== undefined };
  }
}

/** Runs of conversations are autosaved. */
const isAutosaved = (start: RunStart): boolean =>
  'frames' in start ? start.saved === true : start.conversation !== undefined;

const followSignal = (session: LiveSession, signal: AbortSignal): void => {
  if (signal.aborted) return session.cancel();
  const cancel = (): void => session.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  const forget = (): void => signal.removeEventListener('abort', cancel);
  session.outcome.then(forget, forget);
};
