// Continues runs from frames: those of an interrupted run, and those that a fork or a checkpoint begins with.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { checkOptions, oneOf, parseRunId } from '#base/shapes';
import type { Agent, ForkOptions, Frame, ReplayReport, RunOptions, RunSession, RunStarter } from '#contracts';
import { projectLog } from '#core/events';
import { checkResume, forkFrames, replayRun } from '#core/orchestration';
import type { ResumableRun } from '#core/orchestration';
import { withChildren } from '#app/agents';
import type { AgentResources } from '#app/agents';
import type { AgentList } from './agent-list.ts';
import { checkRecordedValues } from './check-recorded-values.ts';
import { areOnlyOlder, checkFiles, fileProblemsText, restoreFiles } from './check-files.ts';
import { checkEnvPassedAgain, environmentFor, resourcesWithEnv } from './run-environment.ts';
import type { RunRequestChecker } from './run-request-checker.ts';
import type { ContinuedRun, RunEnvironment } from './run-start.ts';
import type { Runs } from './runs.ts';
import type { SharedPorts } from './shared-ports.ts';

type RunContinuerPorts = {
  readonly agents: AgentList;
  readonly requests: RunRequestChecker;
  readonly runs: Runs;
};

type ResumedRun = {
  /** Whether the run is a turn of a conversation, according to the workspace log. */
  readonly isTurn: (run: RunId) => Promise<boolean>;
  /** All of its cells only waited, so it was not down. */
  readonly wasAtRest: boolean;
};

export class RunContinuer {
  readonly #shared: SharedPorts;
  readonly #ports: RunContinuerPorts;

  constructor(shared: SharedPorts, ports: RunContinuerPorts) {
    this.#shared = shared;
    this.#ports = ports;
  }

  /** Throws if a run cannot continue with the agents that are loaded, as far as their definitions tell. */
  checkDefinitions(frames: readonly Frame[]): ResumableRun {
    return checkResume(frames, (name) => this.#ports.agents.findInTree(name));
  }

  /** Throws if a run cannot continue with the agents that are loaded and these values of variables. */
  async check(
    frames: readonly Frame[],
    env: RunOptions['env'],
    resources = resourcesWithEnv(this.#shared.resources, env),
  ): Promise<ResumableRun & RunEnvironment> {
    checkRecordedValues(frames);
    const resumable = this.checkDefinitions(frames);
    checkEnvPassedAgain(frames, env);
    const forked = await this.prepareForks(frames, resources);
    for (const one of withChildren([resumable.agent])) resources.modelsOf(one);
    return { ...resumable, ...environmentFor(resources, resumable.agent, forked) };
  }

  /** Looks up the models that forks use instead of an agent's own. Returns the agents with those models. */
  async prepareForks(
    frames: readonly Frame[],
    resources: AgentResources,
    options?: Parameters<AgentResources['prepare']>[2],
  ): Promise<readonly Agent[]> {
    const forked: Agent[] = [];
    for (const { record } of frames) {
      if (record.type !== 'fork' || record.amendment.model === undefined) continue;
      const { agent: name, model } = record.amendment;
      const agent = this.#ports.agents.findInTree(name);
      if (agent === undefined) continue;
      await resources.prepare(agent, model, options);
      forked.push({ ...agent, resources: { ...agent.resources, models: [model] } });
    }
    return forked;
  }

  async resume(
    id: string,
    options: NonNullable<Parameters<RunStarter['resume']>[1]>,
    { isTurn, wasAtRest }: ResumedRun,
  ): Promise<RunSession> {
    checkOptions(options, { signal: 'signal', takeOver: 'flag', env: 'any', files: oneOf('restore') });
    const { signal, takeOver = false, env, files } = options;
    const { store } = this.#shared;
    const run = parseRunId(id);
    // Before the run is acquired, because nothing is written for a run that this build cannot read.
    const [found] = await store.list({ runs: [run] });
    if (found?.unreadable !== undefined) throw new CloisterError('run_format', found.unreadable);
    const log = await store.acquireRun(run, { takeOver });
    try {
      const frames = await store.read(run);
      const resumable = await this.check(frames, env);
      await this.#checkFiles(frames, run, files === 'restore');
      const saved = frames.some(mayBelongToConversation) && (await isTurn(run));
      const signals = await store.signals(run);
      return this.#ports.runs.start(run, { ...resumable, log, saved, signals, wasAtRest }, signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /** Throws `files_changed`. */
  async #checkFiles(frames: readonly Frame[], run: RunId, mayRestore: boolean): Promise<void> {
    const { workspaces } = this.#shared;
    const problems = await checkFiles(frames, workspaces, run);
    if (problems.length === 0) return;
    if (!mayRestore || !(await areOnlyOlder(frames, workspaces, run)))
      throw new CloisterError('files_changed', fileProblemsText(problems));
    await restoreFiles(frames, workspaces, run);
  }

  /** Goes through a log again, without anything outside. */
  async replay(frames: readonly Frame[]): Promise<ReplayReport> {
    const { validate, resources, openPauses } = this.#shared;
    const { agents } = this.#ports;
    await this.prepareForks(frames, resources, { allowMissingVariables: true });
    const pause = openPauses?.();
    const ports = { validate, resources, windowLimitFor: (agent: Agent) => agents.windowLimitFor(agent), pause };
    const { replayedFrames, ...report } = await replayRun(frames, (name) => agents.findInTree(name), ports);
    return { ...report, events: await projectLog(replayedFrames, 'contents', pause) };
  }

  async fork(original: string, options: ForkOptions): Promise<RunSession> {
    checkOptions(options, {
      signal: 'signal',
      at: 'text',
      goal: 'text',
      model: 'text',
      withoutGrants: 'texts',
      env: 'any',
      budget: 'any',
      budgetMax: 'any',
      caller: 'name',
    });
    const { env, goal, budget, at, signal } = options;
    const { store, ids, clock } = this.#shared;
    const { agents, requests, runs } = this.#ports;
    const run = ids.random() as RunId;
    const resources = resourcesWithEnv(this.#shared.resources, env);
    await runs.durable(parseRunId(original));
    const frames = forkFrames(await store.read(parseRunId(original)), options, {
      run,
      now: clock.now(),
      findAgent: (name) => agents.findInTree(name),
      redact: (name, text) => resources.redactFor(agents.findInTree(name) ?? null)?.text(text) ?? text,
    });
    const resumable = await this.check(frames, env, resources);
    if (budget !== undefined) requests.checkBudget(resumable.agent, budget, resources);
    if (goal !== undefined && at === frames[0]!.cell) requests.checkGoal(resumable.agent, goal, { resources });
    const log = await store.acquireRun(run);
    return this.startFromFrames(run, { ...resumable, log, saved: false }, signal);
  }

  /** Writes the first frames of a run, and continues from there. */
  async startFromFrames(run: RunId, start: ContinuedRun & RunEnvironment, signal?: AbortSignal): Promise<RunSession> {
    const { log } = start;
    const { frames } = start.recorded;
    try {
      // Files first: a log without its files could not be resumed.
      await restoreFiles(frames, this.#shared.workspaces, run);
      for (const frame of frames) log.append(frame);
      await log.durable();
      return this.#ports.runs.start(run, start, signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }
}

/** A run with such a record may be a turn of a conversation, according to the workspace log. */
const mayBelongToConversation = ({ record }: Frame): boolean =>
  record.type === 'fork' || (record.type === 'open' && record.conversation !== undefined);
