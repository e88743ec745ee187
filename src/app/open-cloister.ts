// Puts the parts together: the only place that knows everyone.
import { CloisterError, Semaphore } from '#base';
import type { CellId, RunId } from '#base';
import type {
  Agent,
  Clock,
  Cloister,
  Frame,
  Ids,
  Model,
  RunLog,
  RunOptions,
  RunOutcome,
  RunSession,
  RunSummary,
  Store,
  Validate,
  Workspaces,
} from '#contracts';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { memoryStore, openSqliteStore } from '#adapters/stores';
import { jailedWorkspaces, memoryWorkspaces } from '#adapters/workspaces';
import { auditRun, explainCell, projectEvents, reportRun } from '#core/audit';
import { assertAgent, checkRequest, resumeRun, startRun } from '#core/orchestration';
import type { LiveRun, World } from '#core/orchestration';
import { LiveSession } from './live-session.ts';
import { systemClock, systemIds } from './world.ts';

export type CloisterOptions = {
  readonly agents: readonly Agent[];
  /** Where runs are kept; default `./.cloister`. */
  readonly workspace?: string;
  /** `memory`: nothing touches the disk. */
  readonly store?: 'memory';
  /** For agents that name no model of their own; tried in this order. */
  readonly models?: readonly (LanguageModelV4 | Model)[];
  /** How many model requests and tool calls may be under way at once in this process; default: no bound. */
  readonly concurrency?: { readonly models?: number; readonly tools?: number };
  /** For tests: another clock, other ids. */
  readonly clock?: Clock;
  readonly ids?: Ids;
};

export const openCloister = async (options: CloisterOptions): Promise<Cloister> => {
  const agents = options.agents.map((agent, index) => assertAgent(agent, `agents[${index}]`));
  const twice = agents.find((agent, index) => agents.findIndex(({ name }) => name === agent.name) !== index);
  if (twice !== undefined) throw new CloisterError('agent_invalid', `There are two agents named "${twice.name}".`);
  const folder = options.workspace ?? './.cloister';
  const [store, { validate }] = await Promise.all([
    options.store === 'memory' ? memoryStore() : openSqliteStore(folder),
    import('#adapters/schemas'),
  ]);
  const workspaces = options.store === 'memory' ? memoryWorkspaces() : jailedWorkspaces(folder);
  return new LocalCloister(agents, store, workspaces, validate, options);
};

class LocalCloister implements Cloister {
  readonly agents: readonly Agent[];
  readonly #store: Store;
  readonly #workspaces: Workspaces;
  readonly #validate: Validate;
  readonly #models: readonly Model[];
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #lanes = new Map<string, Semaphore>();
  readonly #live = new Map<RunId, LiveSession>();

  constructor(
    agents: readonly Agent[],
    store: Store,
    workspaces: Workspaces,
    validate: Validate,
    options: CloisterOptions,
  ) {
    this.agents = agents;
    this.#store = store;
    this.#workspaces = workspaces;
    this.#validate = validate;
    this.#models = (options.models ?? []).map((model) => ('language' in model ? model : { language: model }));
    this.#clock = options.clock ?? systemClock;
    this.#ids = options.ids ?? systemIds;
    for (const [lane, slots] of Object.entries(options.concurrency ?? {}))
      if (slots !== undefined) this.#lanes.set(lane, new Semaphore(slots));
  }

  get workspace(): string | null {
    return this.#store.path;
  }

  run(agent: string | Agent, input: string, options: RunOptions = {}): RunSession {
    const found = typeof agent === 'string' ? this.#agent(agent) : assertAgent(agent, 'The agent');
    checkRequest(found, input, options.budget, this.#models);
    const run = this.#ids.random() as RunId;
    return this.#start(
      run,
      options.signal,
      () => this.#store.own(run),
      (world) => startRun(found, input, options.budget, world),
    );
  }

  async resume(run: string, options: { signal?: AbortSignal } = {}): Promise<RunSession> {
    const id = run as RunId;
    const log = await this.#store.own(id);
    try {
      const frames = await this.#store.read(id);
      return this.#start(
        id,
        options.signal,
        () => log,
        (world) => resumeRun(frames, (name) => this.#anyAgent(name), world),
      );
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  runs(): Promise<readonly RunSummary[]> {
    return this.#store.list();
  }

  async show(run: string) {
    const [frames, runs] = await Promise.all([this.#store.read(run as RunId), this.#store.list()]);
    return reportRun(frames, runs.find((one) => one.run === run)?.state ?? 'interrupted');
  }

  async explain(run: string, cell: string, { find }: { find?: string } = {}) {
    return explainCell(await this.#store.read(run as RunId), cell as CellId, find);
  }

  async audit(run: string) {
    const { frames, problems } = await this.#store.inspect(run as RunId);
    return auditRun(frames, { blob: (ref) => this.#store.blob(ref), damaged: problems });
  }

  /** Cancels what still runs, waits for it, and closes the store. */
  async close(): Promise<void> {
    const live = [...this.#live.values()];
    for (const session of live) session.cancel();
    await Promise.allSettled(live.map((session) => session.outcome));
    await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #agent(name: string): Agent {
    const found = this.agents.find((agent) => agent.name === name);
    if (found !== undefined) return found;
    throw new CloisterError(
      'agent_unknown',
      `"${name.slice(0, 80)}" is not one of: ${this.agents.map((agent) => agent.name).join(', ') || '(none)'}.`,
    );
  }

  #anyAgent(name: string): Agent | undefined {
    const search = (agents: readonly Agent[]): Agent | undefined => {
      for (const agent of agents) {
        const found = agent.name === name ? agent : search(agent.agents);
        if (found !== undefined) return found;
      }
      return undefined;
    };
    return search(this.agents);
  }

  #start(
    run: RunId,
    signal: AbortSignal | undefined,
    own: () => RunLog | Promise<RunLog>,
    begin: (world: World) => LiveRun,
  ): RunSession {
    let live: LiveRun | null = null;
    let cancelled = false;
    const cancel = (): void => {
      cancelled = true;
      live?.cancel();
    };
    const outcome = (async (): Promise<RunOutcome> => {
      const log = await own();
      try {
        live = begin(this.#worldOf(run, log, () => session));
        if (cancelled) live.cancel();
        return { ...(await live.outcome), run, cell: live.cell };
      } finally {
        signal?.removeEventListener('abort', cancel);
        await log.close();
        this.#live.delete(run);
      }
    })();
    const past = async (): Promise<readonly Frame[]> => this.#store.read(run);
    const session = new LiveSession({ run, project: projectEvents, past, cancel }, outcome);
    this.#live.set(run, session);
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener('abort', cancel, { once: true });
    return session;
  }

  #worldOf(run: RunId, log: RunLog, session: () => LiveSession): World {
    return {
      run,
      log,
      clock: this.#clock,
      ids: this.#ids,
      workspaces: this.#workspaces,
      validate: this.#validate,
      models: this.#models,
      keep: (bytes) => this.#store.keep(bytes),
      blob: (ref) => this.#store.blob(ref),
      lane: (name) => this.#lanes.get(name),
      onFrame: (frame) => session().onFrame(frame),
      heard: () => session().heard,
      onLive: (cell, agent, event) => session().onLive(cell, agent, event),
    };
  }
}
