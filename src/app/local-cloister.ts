// Runs on this machine: started, gone on with, made again, forked, looked at.
import { CloisterError } from '#base';
import type { CellId, JsonObject, RunId } from '#base';
import type {
  Agent,
  Budget,
  Cloister,
  ForkOptions,
  Frame,
  ReplayReport,
  RunDiff,
  RunLog,
  RunOptions,
  RunOutcome,
  RunSession,
  RunSummary,
} from '#contracts';
import { nearest } from '#core/registry';
import { auditRun, diffRuns, explainCell, projectEvents, reportRun } from '#core/audit';
import {
  askFor,
  assertAgent,
  checkRequest,
  checkResume,
  forkFrames,
  replayRun,
  resumeRun,
  startRun,
} from '#core/orchestration';
import type { LiveRun, World } from '#core/orchestration';
import { withChildren } from './agents/equip-plainly.ts';
import { checkFiles, fileProblemsText, restoreFiles } from './check-files.ts';
import { checkSchemas } from './check-schemas.ts';
import { LiveSession } from './live-session.ts';
import { RunWorld } from './run-world.ts';
import type { Shared } from './run-world.ts';

export class LocalCloister implements Cloister {
  readonly agents: readonly Agent[];
  readonly #shared: Shared;
  readonly #live = new Map<RunId, LiveSession>();
  /** Runs that are being taken up again. */
  readonly #onTheirWay = new Set<Promise<RunSession>>();
  #closed = false;

  constructor(agents: readonly Agent[], shared: Shared) {
    this.agents = agents;
    this.#shared = shared;
  }

  get workspace(): string | null {
    return this.#shared.store.path;
  }

  run(agent: string | Agent, input: string | JsonObject, options: RunOptions = {}): RunSession {
    const found = typeof agent === 'string' ? this.#agent(agent) : assertAgent(agent, 'The agent');
    const asked = options.schema === undefined ? found : askFor(found, { format: 'json', schema: options.schema });
    checkSchemas(asked, this.#shared.schemaProblem);
    const { validate, equipped } = this.#shared;
    const equip = (one: Agent) => equipped.equip(one);
    const goal = checkRequest(asked, input, options.budget, { validate, equip });
    return this.#start(
      this.#shared.ids.random() as RunId,
      { agent: asked, goal, budget: options.budget },
      options.signal,
    );
  }

  resume(run: string, options: { signal?: AbortSignal } = {}): Promise<RunSession> {
    return this.#opening(this.#resume(run as RunId, options.signal));
  }

  async #resume(run: RunId, signal: AbortSignal | undefined): Promise<RunSession> {
    const log = await this.#shared.store.own(run);
    try {
      const frames = await this.#shared.store.read(run);
      await this.#checkAgents(frames);
      const problems = await checkFiles(frames, this.#shared.workspaces, run);
      if (problems.length > 0) throw new CloisterError('files_changed', fileProblemsText(problems));
      return this.#start(run, { log, frames }, signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  async replay(run: string): Promise<ReplayReport> {
    const frames = await this.#shared.store.read(run as RunId);
    await this.#prepareForks(frames);
    const { validate } = this.#shared;
    const equip: World['equip'] = (agent, model) => this.#shared.equipped.equip(agent, model);
    const { made, ...report } = await replayRun(frames, (name) => this.#anyAgent(name), { validate, equip });
    const fold = projectEvents();
    return { ...report, events: made.flatMap((frame) => fold.next(frame)) };
  }

  fork(run: string, options: ForkOptions): Promise<RunSession> {
    return this.#opening(this.#fork(run as RunId, options));
  }

  async #fork(run: RunId, options: ForkOptions): Promise<RunSession> {
    const { store, ids, workspaces } = this.#shared;
    const id = ids.random() as RunId;
    const goal = options.goal === undefined ? {} : { goal: this.redact(options.goal) };
    const now = this.#shared.clock.now();
    const frames = forkFrames(await store.read(run), { ...options, ...goal }, { run: id, now });
    await this.#checkAgents(frames);
    const log = await store.own(id);
    try {
      for (const frame of frames) log.append(frame);
      await log.durable();
      await restoreFiles(frames, workspaces, id);
      return this.#start(id, { log, frames }, options.signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  async diff(one: string, other: string): Promise<RunDiff> {
    const { store } = this.#shared;
    return diffRuns(await store.read(one as RunId), await store.read(other as RunId));
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
    return this.#shared.equipped.redact?.text(text) ?? text;
  }

  /** Cancels what still runs, waits for it, and closes the store. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const session of this.#live.values()) session.cancel();
    // What is on its way finds it closed.
    await Promise.allSettled(this.#onTheirWay);
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
    throw new CloisterError('agent_unknown', this.#unknownWords(name.slice(0, 80)));
  }

  #unknownWords(name: string): string {
    if (this.agents.length === 0)
      return `No agents were given, and there is no "${name}.ai" here, in \`agents\` of .ai-agent.json, or in the home folder. Name a file, or a folder with --agents.`;
    const names = this.agents.map((agent) => agent.name);
    const meant = nearest(name, names);
    return `"${name}" is not one of: ${names.join(', ')}.${meant === null ? '' : ` Did you mean "${meant}"?`}`;
  }

  #anyAgent(name: string): Agent | undefined {
    return [...withChildren(this.agents)].find((agent) => agent.name === name);
  }

  /** Throws why a run cannot go on with the agents that are here. */
  async #checkAgents(frames: readonly Frame[]): Promise<void> {
    const { agent } = checkResume(frames, (name) => this.#anyAgent(name));
    await this.#prepareForks(frames);
    for (const one of withChildren([agent])) this.#shared.equipped.equip(one);
  }

  /** Models that forks have put in the place of an agent's own. */
  async #prepareForks(frames: readonly Frame[]): Promise<void> {
    for (const { record } of frames) {
      if (record.type !== 'fork' || record.amendment.model === undefined) continue;
      const { agent: name, model } = record.amendment;
      const agent = this.#anyAgent(name);
      if (agent !== undefined) await this.#shared.equipped.prepare(agent, model);
    }
  }

  async #opening(session: Promise<RunSession>): Promise<RunSession> {
    this.#onTheirWay.add(session);
    try {
      return await session;
    } finally {
      this.#onTheirWay.delete(session);
    }
  }

  #start(run: RunId, start: Start, signal: AbortSignal | undefined): RunSession {
    if (this.#closed) throw new CloisterError('store_failed', 'This Cloister is closed.');
    const seen = 'log' in start ? start.frames.length : 0;
    const session = new LiveSession(run, this.#shared.store, seen, (live) => this.#follow(live, start));
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
