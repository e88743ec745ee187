// Starts, resumes, replays, forks and inspects runs on this machine.
import { CloisterError, fromRecords } from '#base';
import type { JsonObject, RunId } from '#base';
import type {
  Agent,
  AgentData,
  AgentInput,
  AgentTool,
  Checkpoints,
  Cloister,
  Conversations,
  ResidentOptions,
  RunOptions,
  RunSession,
  Schema,
  TeamGoal,
  TeamSession,
  TurnOptions,
} from '#contracts';
import { seesShape } from '#contracts';
import { checkWritable } from './check-writable.ts';
import { buildAgentTool } from './build-agent-tool.ts';
import { AgentList } from './agent-list.ts';
import { filesOf, RunRequestChecker } from './run-request-checker.ts';
import type { ValidatedRequest } from './run-request-checker.ts';
import { withChildren } from '#app/agents';
import { readRunEnv } from '#core/registry';
import { environmentFor, resourcesWithEnv } from './run-environment.ts';
import { checkOptionType, checkOptions, parseRunId } from '#base/shapes';
import { conversationRef, ConversationService } from '#app/conversations';
import { RunContinuer } from './run-continuer.ts';
import { checkAnswer } from './check-answer.ts';
import { checkTeamRun, refuseTeamConversation, tasksGoal, teamGoal } from './check-team.ts';
import { checkSchemas } from './check-schemas.ts';
import { RunReader } from './run-reader.ts';
import { onlyRun } from './run-start.ts';
import type { NewRun } from './run-start.ts';
import { handleQuestions } from './question-handler.ts';
import { LocalRunDriver } from './run-driver.ts';
import { RunQuestions } from './run-questions.ts';
import { Runs } from './runs.ts';
import type { SharedPorts } from './shared-ports.ts';
import { noStallReport } from './stall-monitor.ts';
import { StoreInbox } from './store-inbox.ts';
import { openRunStorage } from './open-run-storage.ts';

export class LocalCloister extends RunReader implements Cloister {
  readonly #shared: SharedPorts;
  readonly #agents: AgentList;
  readonly #requests: RunRequestChecker;
  readonly #runs: Runs;
  readonly #continuer: RunContinuer;
  readonly #conversationService: ConversationService;
  readonly #questions: RunQuestions;
  readonly storage: Cloister['storage'];
  readonly driver: Cloister['driver'];

  constructor(agents: readonly Agent[], shared: SharedPorts) {
    const { store, clock, ids, conversationSettings } = shared;
    super(store, shared.workspaces, shared.openPauses);
    this.#shared = shared;
    this.#agents = new AgentList(agents, shared.resources);
    this.#requests = new RunRequestChecker(shared, this.#agents);
    this.#conversationService = new ConversationService({
      store,
      clock,
      ids,
      settings: conversationSettings,
      agent: (name) => this.#agents.findInTree(name),
      agentNames: () => this.#agents.all.map(({ name }) => name),
      checkAgent: (name) => this.#agents.check(name),
      redact: (text) => this.redact(text),
      durable: (run) => this.#runs.durable(run),
      continueRun: {
        check: async (frames, env) => {
          const checked = await this.#continuer.check(frames, env);
          return {
            start: (run, log, conversation) =>
              this.#continuer.startFromFrames(run, { ...checked, log, saved: conversation !== null }),
          };
        },
      },
    });
    const { onQuestion } = shared;
    const onStart = onQuestion && ((session: RunSession) => void handleQuestions(session, onQuestion, this.#questions));
    this.#runs = new Runs(shared, this.#agents, this.#conversationService.autosave, onStart);
    this.storage = openRunStorage(shared, this.#conversationService, this.#runs);
    this.#continuer = new RunContinuer(shared, { agents: this.#agents, requests: this.#requests, runs: this.#runs });
    this.driver = new LocalRunDriver({
      ...shared,
      runs: this.#runs,
      starter: this,
      agent: (name) => this.#agents.get(name),
      check: (...request) => this.#requests.checkRequested(...request),
      resume: (run, wasAtRest) => this.#resume(run, { files: 'restore' }, wasAtRest),
    });
    const others = { runs: this.#runs, agents: this.#agents, continuer: this.#continuer };
    this.#questions = new RunQuestions({ store, clock, ids, ...others, resume: (run) => this.resume(run) });
  }

  get agents(): readonly Agent[] {
    return this.#agents.all;
  }

  get conversations(): Conversations {
    return this.#conversationService.conversations;
  }

  get checkpoints(): Checkpoints {
    return this.#conversationService.checkpoints;
  }

  register(agent: Agent): void {
    for (const one of withChildren([this.#agents.resolve(agent)])) checkSchemas(one, this.#shared);
    this.#agents.register(agent);
  }

  remove(agent: string): void {
    checkOptionType('agent', agent, 'name');
    this.#agents.remove(agent);
  }

  run<A extends Agent = Agent, const S extends Schema = never>(
    agent: string | A,
    input: AgentInput<A>,
    options: RunOptions<S> = {},
  ): RunSession<AgentData<A, S>> {
    const request = this.#requests.checkRun(agent, input as string | JsonObject, options);
    const { budget, signal, caller, only } = options;
    const start = {
      ...request.environment,
      agent: request.agent,
      goal: request.goal,
      budget,
      system: request.system,
      history: this.#requests.historyFor(request),
      ...filesOf(request),
      caller,
      ...onlyRun(only),
    };
    // The schema has been checked: what it accepts has its type.
    return this.#runs.start(this.#runs.idFor(only), start, signal) as RunSession<never>;
  }

  agentTool(agent: string | Agent, options: Parameters<Cloister['agentTool']>[1] = {}): AgentTool {
    checkOptions(options, { env: 'any' });
    const found = this.#agents.resolve(agent);
    const { validate } = this.#shared;
    const env = options.env === undefined ? {} : { env: readRunEnv(options.env) };
    return buildAgentTool(found, { validate, run: (input, one) => this.run(agent, input, { ...one, ...env }).outcome });
  }

  runTasks(...[team, tasks, options = {}]: Parameters<Cloister['runTasks']>): TeamSession {
    return this.#startTeam(team, tasksGoal(tasks, options), options);
  }

  runTeam(...[team, goal, options = {}]: Parameters<Cloister['runTeam']>): TeamSession {
    return this.#startTeam(team, teamGoal(goal, options), options);
  }

  #startTeam(team: string | Agent, request: TeamGoal, options: Pick<RunOptions, 'budget' | 'signal' | 'env'>) {
    const { budget, signal, env } = options;
    const agent = this.#agents.resolve(team, 'The team');
    const environment = environmentFor(resourcesWithEnv(this.#shared.resources, env), agent);
    const goal = checkTeamRun(agent, request, budget, { ...this.#shared, resources: environment.resources });
    return this.#runs.start(this.#shared.ids.random() as RunId, { ...environment, agent, goal, budget }, signal);
  }

  async runTurn<const S extends Schema = never>(
    agent: string,
    input: string | JsonObject,
    options: TurnOptions<S> = {},
  ): Promise<RunSession<AgentData<Agent, S>>> {
    const request = this.#requests.checkRun(agent, input, options);
    refuseTeamConversation(request.agent);
    const conversation = conversationRef(request.agent.name, options.conversation);
    const { budget, signal, caller, only } = options;
    const session = await this.#runs.opening(this.#runTurn(request, conversation, { budget, signal, caller, only }));
    return session as RunSession<never>;
  }

  async spawn(agent: string | Agent, options: ResidentOptions = {}): Promise<RunSession> {
    const request = this.#requests.checkResident(agent, options);
    const { budget, signal, conversation, topics = [], caller, only } = options;
    const startOptions = { budget, signal, resident: { topics }, caller };
    if (conversation !== undefined) {
      const ref = conversationRef(request.agent.name, conversation);
      return this.#runs.opening(this.#runTurn(request, ref, { ...startOptions, only }));
    }
    const start = {
      ...request.environment,
      agent: request.agent,
      goal: request.goal,
      system: request.system,
      history: this.#requests.historyFor(request),
      ...filesOf(request),
      ...startOptions,
      ...onlyRun(only),
    };
    return this.#runs.start(this.#runs.idFor(only), start, signal);
  }

  send(...[run, text, target]: Parameters<Cloister['send']>): string {
    return this.#runs.find(parseRunId(run)).send(text, target);
  }

  async questions(...[query = {}]: Parameters<Cloister['questions']>): ReturnType<Cloister['questions']> {
    checkOptions(query, { run: 'name', caller: 'name', all: 'flag' });
    return this.#questions.list(query);
  }

  async answer(...[question, answer, options = {}]: Parameters<Cloister['answer']>): ReturnType<Cloister['answer']> {
    checkOptionType('question', question, 'text');
    checkAnswer(answer);
    checkOptions(options, { by: 'name', id: 'name', right: 'any', resume: 'any' });
    return this.#questions.answer(question, answer, options);
  }

  async signal(...[run, command, options = {}]: Parameters<Cloister['signal']>): ReturnType<Cloister['signal']> {
    checkOptions(options, { id: 'name', by: 'name' });
    return this.#runs.signal(run, command, options);
  }

  readonly follow: Cloister['follow'] = (run, options) => this.#runs.follow(parseRunId(run), options);

  inbox(headend: string): StoreInbox {
    return new StoreInbox(headend, this.#shared);
  }

  subscribe(run: string, topic: string): ReturnType<Cloister['subscribe']> {
    return this.#runs.find(parseRunId(run)).subscribe(topic);
  }

  observe(...[options = {}]: Parameters<Cloister['observe']>): ReturnType<Cloister['observe']> {
    checkOptions(options, { sees: seesShape, details: 'flag', signal: 'signal' });
    return this.#runs.observe(options);
  }

  async #runTurn(
    request: ValidatedRequest,
    conversation: { readonly agent: string; readonly name: string },
    {
      signal,
      only,
      ...startOptions
    }: Pick<NewRun, 'budget' | 'resident' | 'caller'> & Pick<RunOptions, 'signal' | 'only'>,
  ): Promise<RunSession> {
    const { environment, agent, goal, context, system, dialog } = request;
    if (dialog.length > 0)
      throw new CloisterError(
        'options_invalid',
        'history: cannot be combined with `conversation`, which has its own history.',
      );
    const bytesMax = this.#requests.historyBytes(agent);
    const turn = { agent, conversation, context, bytesMax, run: this.#runs.idFor(only), isOnly: only !== undefined };
    const { run, log, history, files } = await this.#conversationService.beginTurn(turn);
    try {
      const own = { ...environment, ...filesOf(request), ...startOptions, ...onlyRun(only) };
      const start = { agent, goal, log, system, history, files, conversation, ...own };
      return this.#runs.start(run, start, signal);
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  resume(run: string, options: Parameters<Cloister['resume']>[1] = {}): Promise<RunSession> {
    return this.#resume(run, options, false);
  }

  #resume(run: string, options: Parameters<Cloister['resume']>[1] & {}, wasAtRest: boolean): Promise<RunSession> {
    const isTurn = (one: RunId): Promise<boolean> => this.#conversationService.checkResumed(one);
    return this.#runs.opening(fromRecords(run, () => this.#continuer.resume(run, options, { isTurn, wasAtRest })));
  }

  async resumeConversation(
    agent: string,
    options: Parameters<Cloister['resumeConversation']>[1] = {},
  ): Promise<RunSession | null> {
    const { conversation, ...rest } = options;
    checkOptions(rest, { signal: 'signal', env: 'any' });
    const { name } = this.#agents.get(agent);
    const run = await this.#conversationService.findInterruptedSession(name, conversationRef(name, conversation));
    return run === null ? null : this.resume(run, rest);
  }

  async replay(run: string): ReturnType<Cloister['replay']> {
    await this.durable(parseRunId(run));
    return fromRecords(run, async () => this.#continuer.replay(await this.#shared.store.read(parseRunId(run))));
  }

  fork(...[run, options]: Parameters<Cloister['fork']>): Promise<RunSession> {
    return this.#runs.opening(fromRecords(run, () => this.#continuer.fork(run, options)));
  }

  protected override withWaiting(...[runs]: Parameters<RunQuestions['withWaiting']>) {
    return this.#questions.withWaiting(runs);
  }

  /** What could not be written keeps nobody from reading what was. */
  protected override durable(run: RunId): Promise<void> {
    return this.#runs.durable(run).catch(() => undefined);
  }

  get stalls(): Cloister['stalls'] {
    return this.#shared.stalls?.report() ?? noStallReport;
  }

  readonly checkWritable = (): Promise<void> => checkWritable(this.#shared);

  redact(text: string): string {
    // probe: redact-without-cell
    return this.#redactFor(null, text);
  }

  #redactFor(agent: Agent | null, text: string): string {
    return this.#shared.resources.redactFor(agent)?.text(text) ?? text;
  }

  template(agent: string): string | null {
    checkOptionType('agent', agent, 'name');
    const template = this.#shared.resources.template?.(this.#agents.get(agent));
    return template == null ? null : this.redact(template);
  }

  checkVariables(agents: readonly string[]): void {
    for (const name of agents) this.#shared.resources.checkVariables?.(this.#agents.get(name));
  }

  /** Cancels running runs, waits for them, saves them, and closes the store. */
  async close(): Promise<void> {
    await this.#runs.close();
    await this.#questions.close();
    await this.#conversationService.autosave.close();
    await this.#shared.store.close();
  }

  readonly [Symbol.asyncDispose] = (): Promise<void> => this.close();
}
