// Puts the parts together: the only place that knows everyone.
import { CloisterError, defined, Semaphore } from '#base';
import type { CellId, JsonObject, RunId } from '#base';
import type {
  Agent,
  Budget,
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
} from '#contracts';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { memoryStore, openSqliteStore } from '#adapters/stores';
import { jailedWorkspaces, memoryWorkspaces } from '#adapters/workspaces';
import { auditRun, explainCell, reportRun } from '#core/audit';
import { askFor, assertAgent, checkRequest, checkShared, checkResume, resumeRun, startRun } from '#core/orchestration';
import type { LiveRun, World } from '#core/orchestration';
import { checkSchemas } from './check-schemas.ts';
import { equipPlainly, namesAny, withChildren } from './agents/equip-plainly.ts';
import { LiveSession } from './live-session.ts';
import { RunWorld } from './run-world.ts';
import type { Shared } from './run-world.ts';
import { systemClock, systemIds, systemPlace } from './world.ts';

export type CloisterOptions = {
  /** Agents, or paths of agent files (`.ai`), of folders with such files, and of modules that export agents. */
  readonly agents: readonly (Agent | string)[];
  /** A config file before all others; see docs/CONFIG.md for where they are looked for. */
  readonly config?: string;
  /** Where relative paths start and config is looked for; default: the working folder of the process. */
  readonly cwd?: string;
  /** The environment that config may refer to; default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Connect to every tool server that the agents name once, and fail now rather than in a session. */
  readonly preconnect?: boolean;
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
  checkShared(options);
  const { validate, schemaProblem } = await import('#adapters/schemas');
  const { agents, equip, redact } = await equipped(options);
  const twice = agents.find((agent, index) => agents.findIndex(({ name }) => name === agent.name) !== index);
  if (twice !== undefined) throw new CloisterError('agent_invalid', twiceWords(twice.name, agents));
  const folder = options.workspace ?? './.cloister';
  for (const agent of agents) checkSchemas(agent, schemaProblem);
  const store = options.store === 'memory' ? memoryStore() : await openSqliteStore(folder);
  const workspaces = options.store === 'memory' ? memoryWorkspaces() : jailedWorkspaces(folder);
  return new LocalCloister(agents, {
    store,
    workspaces,
    validate,
    schemaProblem,
    clock: options.clock ?? systemClock,
    ids: options.ids ?? systemIds,
    lanes: lanesOf(options.concurrency),
    redact,
    equip,
  });
};

/** Files are named, so that one can be renamed or left out. */
const twiceWords = (name: string, agents: readonly Agent[]): string => {
  const files = agents.flatMap((agent) => (agent.name === name && agent.file !== null ? [agent.file] : []));
  return `There are two agents named "${name}"${files.length > 1 ? `: ${files.join(' and ')}` : ''}. Rename one, or hand over only one of them.`;
};

type Equipped = { readonly agents: readonly Agent[] } & Pick<Shared, 'equip' | 'redact'>;

/** Agents in code that bring everything along need no config, and none is read for them. */
const equipped = async (options: CloisterOptions): Promise<Equipped> => {
  const models = (options.models ?? []).map((model) => ('language' in model ? model : { language: model }));
  const inCode = options.agents.filter((agent) => typeof agent !== 'string');
  const agents = inCode.map((agent, index) => assertAgent(agent, `agents[${index}]`));
  if (
    options.preconnect !== true &&
    agents.length === options.agents.length &&
    ![...withChildren(agents)].some(namesAny)
  )
    return { agents, redact: null, equip: equipPlainly(models) };
  const { openRegistry } = await import('./agents/registry.ts');
  return openRegistry(options.agents, {
    place: { ...systemPlace(), ...defined({ cwd: options.cwd, env: options.env, config: options.config }) },
    models,
    preconnect: options.preconnect ?? false,
  });
};

const lanesOf = (concurrency: CloisterOptions['concurrency'] = {}): ReadonlyMap<string, Semaphore> =>
  new Map(
    Object.entries(concurrency).flatMap(([lane, slots]) =>
      slots === undefined ? [] : [[lane, new Semaphore(slots)] as const],
    ),
  );

class LocalCloister implements Cloister {
  readonly agents: readonly Agent[];
  readonly #shared: Shared;
  readonly #live = new Map<RunId, LiveSession>();
  #closed = false;

  constructor(agents: readonly Agent[], shared: Shared) {
    this.agents = agents;
    this.#shared = shared;
  }

  get workspace(): string | null {
    return this.#shared.store.path;
  }

  run(agent: string | Agent, input: string | JsonObject, options: RunOptions = {}): RunSession {
    if (this.#closed) throw new CloisterError('store_failed', 'This Cloister is closed.');
    const found = typeof agent === 'string' ? this.#agent(agent) : assertAgent(agent, 'The agent');
    const asked = options.schema === undefined ? found : askFor(found, { format: 'json', schema: options.schema });
    checkSchemas(asked, this.#shared.schemaProblem);
    const goal = checkRequest(asked, input, options.budget, this.#shared);
    return this.#start(
      this.#shared.ids.random() as RunId,
      { agent: asked, goal, budget: options.budget },
      options.signal,
    );
  }

  async resume(run: string, options: { signal?: AbortSignal } = {}): Promise<RunSession> {
    const id = run as RunId;
    const log = await this.#shared.store.own(id);
    try {
      const frames = await this.#shared.store.read(id);
      const { agent } = checkResume(frames, (name) => this.#anyAgent(name));
      for (const one of withChildren([agent])) this.#shared.equip(one);
      return this.#start(id, { log, frames }, options.signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  runs(): Promise<readonly RunSummary[]> {
    return this.#shared.store.list();
  }

  async show(run: string) {
    const [frames, runs] = await Promise.all([this.#shared.store.read(run as RunId), this.#shared.store.list()]);
    return reportRun(frames, runs.find((one) => one.run === run)?.state ?? 'interrupted');
  }

  async explain(run: string, cell: string, { find }: { find?: string } = {}) {
    return explainCell(await this.#shared.store.read(run as RunId), cell as CellId, find);
  }

  async audit(run: string) {
    const { frames, problems } = await this.#shared.store.inspect(run as RunId);
    return auditRun(frames, { blob: (ref) => this.#shared.store.blob(ref), damaged: problems });
  }

  rebuild(run?: string): Promise<number> {
    return this.#shared.store.rebuild(run as RunId | undefined);
  }

  redact(text: string): string {
    return this.#shared.redact?.text(text) ?? text;
  }

  /** Cancels what still runs, waits for it, and closes the store. */
  async close(): Promise<void> {
    this.#closed = true;
    const live = [...this.#live.values()];
    for (const session of live) session.cancel();
    await Promise.allSettled(live.map((session) => session.outcome));
    await this.#shared.store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #agent(name: string): Agent {
    const found = this.agents.find((agent) => agent.name === name);
    if (found !== undefined) return found;
    throw new CloisterError(
      'agent_unknown',
      this.agents.length === 0
        ? `No agents were given, and there is no "${name.slice(0, 80)}.ai" here, in \`agents\` of .ai-agent.json, or in the home folder. Name a file, or a folder with --agents.`
        : `"${name.slice(0, 80)}" is not one of: ${this.agents.map((agent) => agent.name).join(', ')}.`,
    );
  }

  #anyAgent(name: string): Agent | undefined {
    return [...withChildren(this.agents)].find((agent) => agent.name === name);
  }

  #start(run: RunId, start: Start, signal: AbortSignal | undefined): RunSession {
    const session = new LiveSession(run, this.#shared.store, (live) => this.#follow(live, start));
    this.#live.set(run, session);
    if (signal !== undefined) followSignal(session, signal);
    return session;
  }

  async #follow(session: LiveSession, start: Start): Promise<RunOutcome> {
    const { run } = session;
    try {
      const log = await ('log' in start ? start.log : this.#shared.store.own(run));
      try {
        return await this.#toTheEnd(session, start, log);
      } finally {
        await log.close();
      }
    } finally {
      session.end();
      this.#live.delete(run);
    }
  }

  async #toTheEnd(session: LiveSession, start: Start, log: RunLog): Promise<RunOutcome> {
    const world = new RunWorld(session.run, log, this.#shared, session);
    try {
      const live = this.#begin(start, world);
      session.attach(live, log);
      return { ...(await live.outcome), run: session.run, cell: live.cell };
    } finally {
      await world.closed();
    }
  }

  #begin(start: Start, world: World): LiveRun {
    if ('log' in start) return resumeRun(start.frames, (name) => this.#anyAgent(name), world);
    return startRun(start.agent, start.goal, start.budget, world);
  }
}

/** A new run, or one to go on with. */
type Start =
  | { readonly agent: Agent; readonly goal: string; readonly budget: Budget | undefined }
  | { readonly log: RunLog; readonly frames: readonly Frame[] };

const followSignal = (session: LiveSession, signal: AbortSignal): void => {
  if (signal.aborted) return session.cancel();
  const cancel = (): void => session.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  const forget = (): void => signal.removeEventListener('abort', cancel);
  session.outcome.then(forget, forget);
};
