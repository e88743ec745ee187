// Serves the agents of one Cloister to callers.
//
//   receipt-after-commit. A run, a message and whatever a command does are on disk before their caller is told.
//   service-others-unknown. A caller can only access its own agents, runs and conversations; others look unknown to it, not
//       forbidden. An operator reads and steers all runs; what it starts is its own.
//   watcher-only-reads. A caller that may only watch starts, sends and stops nothing, and what it reads counts as unread.
//   service-request-in-budget. A request is a run of its own, within the budget of its token. It holds a slot until it has
//       ended, except while it waits for its client or for messages.
import { agentNamed, CloisterError, omitUndefined } from '#base';
import type { RunId } from '#base';
import { outcomeAsSeen } from '#contracts';
import type {
  Agent,
  AgentRequest,
  Caller,
  ClientToolResults,
  CallerRun,
  RunOutcome,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  RunSession,
  ServedRun,
  AgentService,
} from '#contracts';
import { InterruptedRunResumer } from './interrupted-runs.ts';
import type { AgentServicePorts } from './service-ports.ts';
import { LocalCallerAccounts } from './caller-accounts.ts';
import { describeTopology } from './agent-topology.ts';
import { CallerAgents } from './caller-agents.ts';
import { LocalCallerQuestions, refuseAnswerCommand } from './caller-questions.ts';
import { LocalCallerCheckpoints } from './caller-checkpoints.ts';
import { nothingSpent, type SettleAllowance } from './allowances.ts';
import { CallerContinuations } from './caller-continuations.ts';
import { openEngineRuns, type EngineRuns } from './engine-runs.ts';
import { budgetWithin, startServedRun, type StartKind } from './start-run.ts';
import { readDeadLetters } from './caller-dead-letters.ts';
import { ClientTools } from './client-tools.ts';
import { ClientContinuations } from './client-continuations.ts';
import { ElsewhereRuns } from './elsewhere-runs.ts';
import { LocalCallerConversations } from './caller-conversations.ts';
import { listCallerRuns } from './caller-run-list.ts';
import { LocalCallerStorage } from './caller-storage.ts';
import { findCallerRun } from './caller-runs.ts';
import { RunRetention } from './run-retention.ts';
import { RunFactsReader } from './run-facts.ts';
import { CallerLimits } from './caller-limits.ts';
import { givesWork, ResidentSessions, type ResidentRun } from './resident-sessions.ts';
import { LiveRuns } from './live-runs.ts';
import { KeyedRequests } from './keyed-requests.ts';
import { serveClientRequest, serveWholeRun, subscribeEvents, type ActiveRun, type RunHolds } from './served-run.ts';
import { signalRun } from './signal-run.ts';

export class LocalAgentService implements AgentService {
  readonly #ports: AgentServicePorts;
  readonly #live: LiveRuns;
  readonly #limits: CallerLimits;
  readonly #tools: ClientTools;
  readonly #residents: ResidentSessions;
  readonly #resumer: InterruptedRunResumer;
  readonly #keyed: KeyedRequests;
  readonly #elsewhere: ElsewhereRuns;
  /** Undefined: runs work here. */
  readonly #engine: EngineRuns | undefined;
  readonly #clientRuns: ClientContinuations;
  readonly #agents: CallerAgents;
  readonly questions: AgentService['questions'];
  readonly checkpoints: AgentService['checkpoints'];
  readonly accounts: AgentService['accounts'];
  readonly conversations: AgentService['conversations'];
  readonly storage: AgentService['storage'];
  /** Deletes the runs that are no longer kept, once it is started. */
  readonly retention: RunRetention;
  readonly #facts: RunFactsReader;
  readonly #continuations: CallerContinuations;
  /** By the caller object, which is unique to one request. */
  readonly #runOfRequest = new WeakMap<Caller, RunId>();

  constructor(ports: AgentServicePorts) {
    this.#ports = ports;
    this.#agents = new CallerAgents(ports.cloister, ports.agents);
    this.#residents = new ResidentSessions(ports.clock);
    this.#limits = new CallerLimits(ports);
    const { allowances } = this.#limits;
    const live = (): readonly ActiveRun[] => this.#live.values();
    this.accounts = new LocalCallerAccounts({ ...ports, allowances, live });
    this.#tools = new ClientTools({ ...ports, live });
    this.#live = new LiveRuns(ports.clock, this.#tools);
    const find = (caller: Caller, run: string): Promise<CallerRun> => this.find(caller, run);
    this.#continuations = new CallerContinuations({ ...ports, find, start: (...args) => this.#startWithSlot(...args) });
    this.checkpoints = new LocalCallerCheckpoints({
      ...ports,
      agent: (caller, name) => this.agent(caller, name),
      find,
      actorFor: (caller, found) => this.#continuations.actorFor(caller, found),
      start: (...args) => this.#live.whileStarting(this.#startWithSlot(...args)),
    });
    this.#facts = new RunFactsReader(ports.cloister, ports.clock);
    this.storage = new LocalCallerStorage({ ...ports, allowances, find });
    this.retention = new RunRetention({ ...ports, allowances });
    this.conversations = new LocalCallerConversations({ ...ports, checkpoints: this.checkpoints, facts: this.#facts });
    this.#elsewhere = new ElsewhereRuns({
      ...ports,
      activity: ports.clients.activity,
      questions: () => this.questions,
      onInterrupted: () => this.#resumer.resumeIfStarted(),
    });
    this.#clientRuns = new ClientContinuations({
      ...ports,
      find,
      tools: this.#tools,
      live: this.#live,
      elsewhere: this.#elsewhere,
      resume: (caller, run) => this.#resumeDetached(caller, run),
    });
    this.#engine = openEngineRuns({ ...ports, elsewhere: this.#elsewhere });
    this.#keyed = new KeyedRequests({
      ...ports,
      elsewhere: this.#elsewhere,
      findActive: (run) => this.#live.get(run),
      resume: (caller, run) => this.#continuations.resume(caller, run),
    });
    this.#resumer = new InterruptedRunResumer({
      ...ports,
      isLive: (run) => this.#live.get(run) !== undefined,
      resume: (caller, run, signal) => this.#resumeDetached(caller, run, signal),
    });
    this.questions = new LocalCallerQuestions({
      ...ports,
      follow: (caller, run, options) => this.#keyed.follow(caller, () => this.find(caller, run), options),
      withSlot: (run, answer, signal) => this.#live.withSlot(run, answer, signal),
      resume: async (caller, run) => {
        await this.#resumeDetached(caller, run).catch((error: unknown) => this.#resumer.rethrow(error));
        return this.#live.get(run)?.session;
      },
    });
  }

  /** Resumes the interrupted runs of its callers, in the background: now, and again after the store has failed. */
  resumeInterruptedRuns(): void {
    if (this.#engine === undefined) this.#resumer.start();
  }

  get clients(): AgentService['clients'] {
    return this.#ports.clients;
  }

  get running(): number {
    return this.#live.size;
  }

  agent(caller: Caller, name: string): Agent {
    this.#ports.tokens.actingEntry(caller);
    return agentNamed(this.agents(caller), name, 'this token may not run any agent.');
  }

  agents(caller: Caller): readonly Agent[] {
    const entry = this.#ports.tokens.requireEntry(caller);
    return entry.may === undefined ? this.#agents.of(entry) : [];
  }

  readonly topology: AgentService['topology'] = async (caller) =>
    describeTopology(this.agents(caller), caller, (await this.#ports.checkTopology?.()) ?? null);

  readonly template: AgentService['template'] = (caller, agent) =>
    this.#ports.cloister.template(this.agent(caller, agent).name);

  startRun(caller: Caller, request: AgentRequest, signal?: AbortSignal): Promise<ServedRun> {
    const start = (kind?: StartKind): Promise<ServedRun> => this.#startWithSlot(caller, request, signal, kind);
    const { key } = request;
    const keyed = (of: string): Promise<ServedRun> =>
      this.#keyed.start(caller, { ...request, key: of }, (only) => start({ only }), signal);
    const started = key === undefined ? start() : keyed(key);
    return this.#live.whileStarting(started);
  }

  readonly resumeRun: AgentService['resumeRun'] = (...given) =>
    this.#live.whileStarting(this.#continuations.resume(...given));

  /** Once, whoever asks for it: the start of the server, an answer to one of its questions, or a result of its client. */
  #resumeDetached(caller: Caller, run: RunId, signal?: AbortSignal): Promise<unknown> {
    if (this.#engine !== undefined) return this.#engine.wake(run);
    return this.#live.resumeOnce(run, () => this.#continuations.resume(caller, run, signal, true));
  }

  readonly forkRun: AgentService['forkRun'] = (...given) =>
    this.#live.whileStarting(this.#continuations.fork(...given));

  readonly retryRun: AgentService['retryRun'] = (...given) =>
    this.#live.whileStarting(this.#continuations.retry(...given));

  async #startWithSlot(
    caller: Caller,
    request: AgentRequest,
    signal: AbortSignal | undefined,
    { resume, only, detached = false }: StartKind = {},
  ): Promise<ServedRun> {
    const entry = this.#ports.tokens.actingEntry(caller);
    const agent = this.agent(caller, request.agent);
    // One that is taken up again waited before.
    if (!detached) this.#live.checkWaiting(caller);
    // No caller gets more than the agent's definition allows.
    const budget = budgetWithin(budgetWithin(request.budget, entry.budget), agent.caps.budget);
    const { cloister } = this.#ports;
    const acquired = this.#limits.acquireSlot(caller.name, agent.name, entry, signal);
    const slot = acquired instanceof Promise ? await acquired : acquired;
    let settle: SettleAllowance | undefined;
    let resident: ResidentRun | undefined;
    let session: RunSession | undefined;
    let served: ServedRun;
    try {
      const tools = await this.#tools.definitions(caller, request);
      if (request.resident === true) resident = this.#residents.open(/* probe: resident-caller */ caller);
      if (entry.allowance !== undefined) settle = await this.#limits.allowances.reserve(entry, budget);
      const options = {
        caller: caller.name,
        ...omitUndefined({ only }),
        ...(Object.keys(budget).length === 0 ? {} : { budget }),
        ...tools,
      };
      if (this.#engine !== undefined && resume === undefined && tools.tools === undefined) {
        resident?.discard();
        const held = { slot, settle, signal: detached ? undefined : signal };
        return await this.#engine.start(caller, request, options, held);
      }
      const started = resume?.(cloister, budget) ?? startServedRun(cloister, caller, request, options);
      session = started instanceof Promise ? await started : started;
      if (!session.resident) {
        // Only now is it known that it needs no place among the residents.
        resident?.discard();
        resident = undefined;
      }
      const held = { caller, agent, request, slot, settle, resident };
      served = this.#serve(session, held, detached ? undefined : signal);
    } catch (error) {
      session?.cancel();
      resident?.discard();
      settle?.(session === undefined ? nothingSpent : null);
      slot.close();
      throw error;
    }
    await session.durable();
    return served;
  }

  async continueRun(caller: Caller, given: ClientToolResults, signal?: AbortSignal): Promise<ServedRun | null> {
    this.#ports.tokens.actingEntry(caller);
    const served = await this.#clientRuns.continue(caller, given, signal);
    if (served !== null) this.#runOfRequest.set(caller, served.run);
    return served;
  }

  async do<K extends RunCommandName>(
    caller: Caller,
    run: string,
    command: RunCommand<K>,
    signal?: AbortSignal,
  ): Promise<RunCommandResults[K]> {
    this.#ports.tokens.actingEntry(caller);
    refuseAnswerCommand(command);
    const { summary } = await this.find(caller, run);
    const session = this.#live.get(summary.run)?.session;
    const resume = (): Promise<unknown> => this.#resumeDetached(caller, summary.run);
    if (session === undefined)
      return signalRun({ ...this.#ports, caller, resumer: this.#resumer, resume }, summary, command);
    const resident = givesWork[command.do] ? this.#live.get(summary.run)?.resident : undefined;
    // probe: letter-send
    const act = async (): Promise<RunCommandResults[K]> => {
      const result = await session.do(command);
      await session.durable();
      return result;
    };
    return resident === undefined ? act() : resident.withSlot(act, signal);
  }

  readonly requestState: AgentService['requestState'] = (...given) => this.#tools.requestState(...given);

  readonly runs: AgentService['runs'] = (caller, query) =>
    listCallerRuns({ ...this.#ports, live: this.#live, facts: this.#facts }, caller, query);

  readonly deadLetters: AgentService['deadLetters'] = (caller, { runs }) =>
    readDeadLetters(this.#ports.cloister, caller, runs);

  find(caller: Caller, run: string): Promise<CallerRun> {
    return findCallerRun(this.#ports.cloister, { live: this.#live, elsewhere: this.#elsewhere }, caller, run);
  }

  /** The run that was started for this request, if any. */
  runFor(caller: Caller): RunId | undefined {
    return this.#runOfRequest.get(caller);
  }

  /**
   * Waits up to `graceMs` for running runs, but not for people or clients: runs that wait for them are left to be resumed at once. After
   * that, a client that disconnects no longer ends its run, and the remaining runs are left too. A second call may use a shorter time.
   * Returns the runs that were left.
   */
  async drain(graceMs: number): Promise<readonly RunId[]> {
    this.#resumer.stop();
    const left = await this.#live.drain(graceMs);
    this.#elsewhere.close();
    await this.#limits.idle();
    return left;
  }

  #serve(session: RunSession, held: RunHolds, signal: AbortSignal | undefined): ServedRun {
    const { caller, agent, request, slot, settle, resident } = held;
    const { run, outcome } = session;
    const { clock, clients, ended } = this.#ports;
    const reported = Promise.withResolvers<RunOutcome>();
    reported.promise.catch(() => undefined);
    const active: ActiveRun = {
      ...held,
      session,
      // probe: serve-started-at
      startedAt: clock.now(),
      outcome: reported.promise,
      onDisconnect: () => this.#live.disconnect(active),
      questions: () => this.questions.list(caller, run),
      detach: () =>
        reported.reject(new CloisterError('server_stopping', `Run ${run} was not finished; it can be resumed.`)),
    };
    const client = (request.tools ?? []).length > 0 ? this.#tools.attach(caller, session) : null;
    this.#live.add(active);
    this.#runOfRequest.set(caller, run);
    resident?.attach(session, slot);
    const over = (end: RunOutcome | null): void => {
      this.#live.delete(run);
      settle?.(end?.spent ?? null);
      slot.close();
      if (end !== null) ended?.({ caller: caller.name, agent: agent.name, outcome: end });
    };
    outcome.then(over, () => {
      over(null);
      // It could not be recorded to its end.
      this.#resumer.resumeLater();
      this.#ports.runLost?.();
    });
    outcome.then((end) => reported.resolve(outcomeAsSeen(end, caller.sees)), reported.reject);
    if (client === null) return serveWholeRun(active, clients.activity, signal);
    const first = { oneCall: request.oneCall === true, after: -1, waiting: [] };
    const events = subscribeEvents(active, request, signal);
    return serveClientRequest(active, client, first, { activity: clients.activity, signal, events });
  }
}
