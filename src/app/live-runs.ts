// Runs that are under way in this process.
import { CloisterError, PromptlyReleasingMap } from '#base';
import type { RunId } from '#base';
import type { Agent, Budget, ConversationRef, Frame, History, RunLog, RunOutcome, TeamSession } from '#contracts';
import { resumeRun, startRun } from '#core/orchestration';
import type { RunHandle, RunWorldPorts } from '#core/orchestration';
import type { AgentList } from './agent-list.ts';
import { LiveSession } from './live-session.ts';
import { RunWorld } from './run-world.ts';
import type { Shared } from './run-world.ts';

/** A new run, or one to go on with. */
export type RunStart = NewRun | { readonly log: RunLog; readonly frames: readonly Frame[]; readonly saved?: boolean };

export type NewRun = {
  readonly agent: Agent;
  /** Null: it waits for mail. */
  readonly goal: string | null;
  /** It lives until it is asked to finish. */
  readonly resident?: { readonly topics: readonly string[] } | undefined;
  readonly budget?: Budget | undefined;
  readonly history?: History | undefined;
  readonly conversation?: ConversationRef | undefined;
  readonly caller?: string | undefined;
  /** If it is owned already. */
  readonly log?: RunLog;
};

/** Hears of runs that are to be saved as they go. */
export type AutosaveHooks = { touch(run: RunId): void; end(run: RunId): void };

export class LiveRuns {
  readonly #shared: Shared;
  readonly #agents: AgentList;
  readonly #saving: AutosaveHooks;
  readonly #live = new PromptlyReleasingMap<RunId, LiveSession>();
  /** Runs that are being taken up. */
  readonly #onTheirWay = new Set<Promise<unknown>>();
  #closed = false;

  constructor(shared: Shared, agents: AgentList, saving: AutosaveHooks) {
    this.#shared = shared;
    this.#agents = agents;
    this.#saving = saving;
  }

  start(run: RunId, start: RunStart, signal?: AbortSignal): TeamSession {
    if (this.#closed) throw new CloisterError('store_failed', 'This Cloister is closed.');
    const { store, ids } = this.#shared;
    const framesSeen = 'frames' in start ? start.frames.length : 0;
    const mail = () => ({ ids, ...this.#rootOf(start) });
    const session = new LiveSession(run, { store, framesSeen, mail }, (live) => this.#follow(live, start));
    this.#live.set(run, session);
    if (signal !== undefined) followSignal(session, signal);
    return session;
  }

  /** One that is under way here. Throws `cell_ended`. */
  get(run: RunId): LiveSession {
    const session = this.#live.get(run);
    if (session !== undefined) return session;
    throw new CloisterError('cell_ended', `Run ${run} is not under way here: it has ended, or another process has it.`);
  }

  /** When all that was recorded of it is durable; at once if it is not under way here. */
  async durable(run: RunId): Promise<void> {
    await this.#live.get(run)?.durable();
  }

  /** Closing waits for it. */
  async opening<T>(session: Promise<T>): Promise<T> {
    this.#onTheirWay.add(session);
    try {
      return await session;
    } finally {
      this.#onTheirWay.delete(session);
    }
  }

  /** Cancels what still runs, and waits for it. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#live.values()) session.cancel();
    // What is on its way finds it closed.
    await Promise.allSettled(this.#onTheirWay);
    const live = this.#live.values();
    for (const session of live) session.cancel();
    await Promise.allSettled(live.map((session) => session.outcome));
  }

  async #follow(session: LiveSession, start: RunStart): Promise<RunOutcome> {
    const { run } = session;
    try {
      const log = await (start.log ?? this.#shared.store.acquireRun(run));
      try {
        return await this.#toTheEnd(session, start, log);
      } finally {
        await log.close();
      }
    } finally {
      session.end();
      this.#live.delete(run);
      if (isSaved(start)) this.#saving.end(run);
    }
  }

  async #toTheEnd(session: LiveSession, start: RunStart, log: RunLog): Promise<RunOutcome> {
    const saving = isSaved(start) ? this.#saving : undefined;
    const world = new RunWorld(session.run, log, { shared: this.#shared, agents: this.#agents, session, saving });
    try {
      const live = this.#begin(start, world);
      session.attach(live, log, (id) => world.drawNext(id));
      return { ...(await live.outcome), run: session.run, cell: live.cell };
    } finally {
      await world.closed();
    }
  }

  #begin(start: RunStart, world: RunWorldPorts): RunHandle {
    if ('frames' in start) return resumeRun(start.frames, (name) => this.#agents.any(name), world);
    const { agent, goal, budget, conversation, history, resident, caller } = start;
    return startRun(agent, goal, budget, world, { conversation, history, resident, caller });
  }

  #rootOf(start: RunStart): { readonly agent: Agent | undefined; readonly resident: boolean } {
    if (!('frames' in start)) return { agent: start.agent, resident: start.resident !== undefined };
    const record = start.frames[0]?.record;
    if (record?.type !== 'open') return { agent: undefined, resident: false };
    const { agent, spawned } = record.birth;
    return { agent: this.#agents.any(agent), resident: spawned !== undefined };
  }
}

/** Those of conversations are. */
const isSaved = (start: RunStart): boolean =>
  'frames' in start ? start.saved === true : start.conversation !== undefined;

const followSignal = (session: LiveSession, signal: AbortSignal): void => {
  if (signal.aborted) return session.cancel();
  const cancel = (): void => session.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  const forget = (): void => signal.removeEventListener('abort', cancel);
  session.outcome.then(forget, forget);
};
