// Runs on this machine: started, gone on with, made again, forked, looked at.
import { CloisterError } from '#base';
import type { JsonObject, RunId } from '#base';
import type {
  Agent,
  Checkpoints,
  Cloister,
  Conversations,
  ForkOptions,
  Frame,
  Mail,
  ReplayReport,
  ResidentOptions,
  RunLog,
  RunOptions,
  RunReport,
  RunSession,
  MessageTarget,
  TaskSpec,
  TasksOptions,
  TeamGoal,
  TeamRunOptions,
  TeamSession,
  TurnOptions,
} from '#contracts';
import { projectEvents } from '#core/audit';
import { assertAgent, checkResume, forkFrames, replayRun } from '#core/orchestration';
import type { RunWorldPorts } from '#core/orchestration';
import { AgentList } from './agent-list.ts';
import { RunRequestChecker } from './run-request-checker.ts';
import type { ValidatedRequest } from './run-request-checker.ts';
import { withChildren } from './agents/resources-from-code.ts';
import { checkOptionTypes, checkOptions, runId } from './conversations/check-options.ts';
import { checkFiles, fileProblemsText, restoreFiles } from './check-files.ts';
import { checkSchemas } from './check-schemas.ts';
import { checkTeamRun, refuseToTalk, tasksGoal, teamGoal } from './check-team.ts';
import { conversationRef } from './conversations/conversation-names.ts';
import { ConversationService } from './conversations/conversation-service.ts';
import { LiveRuns } from './live-runs.ts';
import type { NewRun } from './live-runs.ts';
import { RunReader } from './run-reader.ts';
import type { Shared } from './run-world.ts';

export class LocalCloister extends RunReader implements Cloister {
  readonly #shared: Shared;
  readonly #agents: AgentList;
  readonly #asking: RunRequestChecker;
  readonly #runs: LiveRuns;
  readonly #keeper: ConversationService;

  constructor(agents: readonly Agent[], shared: Shared) {
    const { store, clock, ids, kept } = shared;
    super(store);
    this.#shared = shared;
    this.#agents = new AgentList(agents, shared.equipped);
    this.#asking = new RunRequestChecker(shared, this.#agents, (text) => this.redact(text));
    this.#keeper = new ConversationService({
      store,
      clock,
      ids,
      kept,
      agent: (name) => this.#agents.any(name),
      agentNames: () => this.#agents.all.map(({ name }) => name),
      checkAgent: (name) => this.#agents.check(name),
      redact: (text) => this.redact(text),
      durable: (run) => this.#runs.durable(run),
      goingOn: {
        check: async (frames) => void (await this.#checkAgents(frames)),
        start: (run, log, { frames, conversation }) => this.#goOn(run, log, { frames, saved: conversation !== null }),
      },
    });
    this.#runs = new LiveRuns(shared, this.#agents, this.#keeper.autosave);
  }

  get agents(): readonly Agent[] {
    return this.#agents.all;
  }

  get workspace(): string | null {
    return this.#shared.store.path;
  }

  get conversations(): Conversations {
    return this.#keeper.conversations;
  }

  get checkpoints(): Checkpoints {
    return this.#keeper.checkpoints;
  }

  register(agent: Agent): void {
    for (const one of withChildren([assertAgent(agent, 'The agent')])) checkSchemas(one, this.#shared.schemaProblem);
    this.#agents.register(agent);
  }

  remove(agent: string): void {
    checkOptionTypes('agent', agent, 'name');
    this.#agents.remove(agent);
  }

  run(agent: string | Agent, input: string | JsonObject, options: RunOptions = {}): RunSession {
    const asked = this.#asking.checkRun(agent, input, options);
    const { budget, signal, caller } = options;
    const start = { agent: asked.agent, goal: asked.goal, budget, history: this.#asking.historyFor(asked), caller };
    return this.#runs.start(this.#shared.ids.random() as RunId, start, signal);
  }

  runAgent(agent: string | Agent, input: string | JsonObject, options?: RunOptions): RunSession {
    return this.run(agent, input, options);
  }

  runTasks(team: string | Agent, tasks: readonly TaskSpec[], options: TasksOptions = {}): TeamSession {
    return this.#startTeam(team, tasksGoal(tasks, options), options);
  }

  runTeam(team: string | Agent, goal: string, options: TeamRunOptions = {}): TeamSession {
    return this.#startTeam(team, teamGoal(goal, options), options);
  }

  #startTeam(team: string | Agent, asked: TeamGoal, { budget, signal }: Pick<RunOptions, 'budget' | 'signal'>) {
    const agent = typeof team === 'string' ? this.#agents.get(team) : assertAgent(team, 'The team');
    const goal = checkTeamRun(agent, asked, budget, this.#shared);
    return this.#runs.start(this.#shared.ids.random() as RunId, { agent, goal, budget }, signal);
  }

  async runTurn(agent: string, input: string | JsonObject, options: TurnOptions = {}): Promise<RunSession> {
    const asked = this.#asking.checkRun(agent, input, options);
    refuseToTalk(asked.agent);
    const conversation = conversationRef(asked.agent.name, options.conversation);
    const { budget, signal, caller } = options;
    return this.#runs.opening(this.#runTurn(asked, conversation, { budget, signal, caller }));
  }

  async spawn(agent: string | Agent, options: ResidentOptions = {}): Promise<RunSession> {
    const asked = this.#asking.checkResident(agent, options);
    const { budget, signal, conversation, topics = [], caller } = options;
    const living = { budget, signal, resident: { topics }, caller };
    if (conversation !== undefined)
      return this.#runs.opening(this.#runTurn(asked, conversationRef(asked.agent.name, conversation), living));
    const start = { agent: asked.agent, goal: asked.goal, history: this.#asking.historyFor(asked), ...living };
    return this.#runs.start(this.#shared.ids.random() as RunId, start, signal);
  }

  send(run: string, text: string, sending?: MessageTarget): string {
    return this.#runs.get(runId(run)).send(text, sending);
  }

  subscribe(run: string, topic: string): AsyncIterable<Mail> {
    return this.#runs.get(runId(run)).subscribe(topic);
  }

  async #runTurn(
    { agent, goal, context, said }: ValidatedRequest,
    conversation: { readonly agent: string; readonly name: string },
    {
      signal,
      ...living
    }: Pick<NewRun, 'budget' | 'resident' | 'caller'> & { readonly signal?: AbortSignal | undefined },
  ): Promise<RunSession> {
    if (said.length > 0)
      throw new CloisterError('options_invalid', 'history: a conversation has its own; give one of the two.');
    const bytesMax = this.#asking.historyBytes(agent);
    const { run, log, history } = await this.#keeper.beginTurn({ agent, conversation, context, bytesMax });
    try {
      return this.#runs.start(run, { agent, goal, log, history, conversation, ...living }, signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  resume(run: string, options: Parameters<Cloister['resume']>[1] = {}): Promise<RunSession> {
    return this.#runs.opening(this.#resume(run, options));
  }

  async #resume(asked: string, options: { signal?: AbortSignal; takeOver?: boolean }) {
    checkOptions(options, { signal: 'signal', takeOver: 'flag' });
    const { signal, takeOver = false } = options;
    const run = runId(asked);
    const log = await this.#shared.store.acquireRun(run, { takeOver });
    try {
      const frames = await this.#shared.store.read(run);
      await this.#checkAgents(frames);
      const problems = await checkFiles(frames, this.#shared.workspaces, run);
      if (problems.length > 0) throw new CloisterError('files_changed', fileProblemsText(problems));
      const saved = frames.some(mayTalk) && (await this.#keeper.checkResumed(run));
      return this.#runs.start(run, { log, frames, saved }, signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  async replay(run: string): Promise<ReplayReport> {
    const frames = await this.#shared.store.read(runId(run));
    await this.#prepareForks(frames);
    const { validate } = this.#shared;
    const equip: RunWorldPorts['equip'] = (agent, model) => this.#shared.equipped.equip(agent, model);
    const windowOf: RunWorldPorts['windowOf'] = (agent) => this.#agents.windowOf(agent);
    const ports = { validate, equip, windowOf };
    const { made, ...report } = await replayRun(frames, (name) => this.#agents.any(name), ports);
    const fold = projectEvents();
    return { ...report, events: made.flatMap((frame) => fold.next(frame)) };
  }

  fork(run: string, options: ForkOptions): Promise<RunSession> {
    return this.#runs.opening(this.#fork(run, options));
  }

  async #fork(asked: string, options: ForkOptions): Promise<RunSession> {
    checkOptions(options, { signal: 'signal', at: 'text', goal: 'text', model: 'text', withoutGrants: 'texts' });
    const run = runId(asked);
    const { store, ids } = this.#shared;
    const id = ids.random() as RunId;
    const goal = options.goal === undefined ? {} : { goal: this.redact(options.goal) };
    const now = this.#shared.clock.now();
    const frames = forkFrames(await store.read(run), { ...options, ...goal }, { run: id, now });
    const agent = await this.#checkAgents(frames);
    if (options.goal !== undefined && options.at === frames[0]!.cell) this.#asking.goalOf(agent, options.goal);
    return this.#goOn(id, await store.acquireRun(id), { frames, signal: options.signal });
  }

  /** Writes down what a run begins with, and goes on from there. */
  async #goOn(run: RunId, log: RunLog, { frames, saved = false, signal }: GoOn): Promise<RunSession> {
    try {
      // Files first: a log without them could not be gone on with.
      await restoreFiles(frames, this.#shared.workspaces, run);
      for (const frame of frames) log.append(frame);
      await log.durable();
      return this.#runs.start(run, { log, frames, saved }, signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  override async show(run: string): Promise<RunReport> {
    await this.#runs.durable(runId(run));
    return super.show(run);
  }

  redact(text: string): string {
    return this.#shared.equipped.redact?.text(text) ?? text;
  }

  /** Cancels what still runs, waits for it, saves it, and closes the store. */
  async close(): Promise<void> {
    await this.#runs.close();
    await this.#keeper.autosave.close();
    await this.#shared.store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Throws why a run cannot go on with the agents that are here. */
  async #checkAgents(frames: readonly Frame[]): Promise<Agent> {
    const { agent } = checkResume(frames, (name) => this.#agents.any(name));
    await this.#prepareForks(frames);
    for (const one of withChildren([agent])) this.#shared.equipped.equip(one);
    return agent;
  }

  /** Models that forks have put in the place of an agent's own. */
  async #prepareForks(frames: readonly Frame[]): Promise<void> {
    for (const { record } of frames) {
      if (record.type !== 'fork' || record.amendment.model === undefined) continue;
      const { agent: name, model } = record.amendment;
      const agent = this.#agents.any(name);
      if (agent !== undefined) await this.#shared.equipped.prepare(agent, model);
    }
  }
}

/** Of a run that has one of these, the book may say that it takes a turn in a conversation. */
const mayTalk = ({ record }: Frame): boolean =>
  record.type === 'fork' || (record.type === 'open' && record.conversation !== undefined);

type GoOn = {
  readonly frames: readonly Frame[];
  readonly saved?: boolean;
  readonly signal?: AbortSignal | undefined;
};
