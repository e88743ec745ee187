// The agents of one Cloister, served to the holders of tokens.
//
//   V1. A caller reaches its own agents, runs and conversations; all others are unknown to it, not forbidden.
//   V2. A request is a run of its own, within the budget of its token, and holds a place until it has ended or waits, for its
//       client or for mail.
import { CloisterError, PromptlyReleasingMap } from '#base';
import type { RunId } from '#base';
import type {
  Agent,
  AgentRequest,
  Caller,
  ClientToolResults,
  ClientRules,
  Clock,
  Cloister,
  FoundRun,
  OutgoingMessage,
  RunOutcome,
  RunSession,
  RunSummary,
  ServedRun,
  AgentService,
  RequestState,
} from '#contracts';
import { servedAgent } from '#headends/shared';
import { Allowances, nothingSpent } from './allowances.ts';
import type { SettleAllowance } from './allowances.ts';
import { budgetWithin } from './budget-within.ts';
import type { ClientRun } from './client-run.ts';
import { clientToolMsDefault, ClientTools } from './client-tools.ts';
import { findCallerRun, listCallerRuns } from './caller-runs.ts';
import type { ActiveRun } from './caller-runs.ts';
import type { SlotQueue } from './slot-queue.ts';
import { createRunSlot } from './run-slot.ts';
import type { RunSlot } from './run-slot.ts';
import { finishResident, ResidentSessions } from './resident-sessions.ts';
import type { ResidentRun } from './resident-sessions.ts';
import { serveRun } from './served-run.ts';
import type { ServeRequestPart } from './served-run.ts';
import { requestedConversation, startServedRun } from './start-run.ts';
import type { TokenRegistry, TokenEntry } from './token-registry.ts';

export type AgentServicePorts = {
  readonly cloister: Cloister;
  /** Names of the agents that are served. */
  readonly agents: readonly string[];
  readonly tokens: TokenRegistry;
  readonly places: SlotQueue;
  /** Of a token that does not say. */
  readonly runningPerCaller?: number;
  readonly clients: ClientRules;
  readonly clock: Clock;
  /** How long a client may take for one call of its tools. */
  readonly clientToolMs?: number;
  /** Hears of every run that has ended. */
  readonly ended?: (run: EndedRun) => void;
};

export type EndedRun = { readonly caller: string; readonly agent: string; readonly outcome: RunOutcome };

export class LocalAgentService implements AgentService {
  readonly #of: AgentServicePorts;
  readonly #live = new PromptlyReleasingMap<RunId, ActiveRun>();
  readonly #allowances: Allowances;
  readonly #tools: ClientTools;
  readonly #residents: ResidentSessions;
  /** What each token may ask, of those that are registered. */
  readonly #agents = new WeakMap<TokenEntry, { readonly all: readonly Agent[]; readonly own: readonly Agent[] }>();
  /** By the caller as it came with one request. */
  readonly #begun = new WeakMap<Caller, RunId>();
  /** How a further request gets its part of a run. */
  readonly #served = new WeakMap<ClientRun, { readonly partOf: ServeRequestPart; readonly place: RunSlot }>();
  /** Those that wait for a place, or for their beginning. */
  readonly #beginning = new PromptlyReleasingMap<number, Promise<ServedRun>>();
  #begins = 0;
  #stopping = false;
  #letGo = false;

  constructor(of: AgentServicePorts) {
    this.#of = of;
    this.#residents = new ResidentSessions(of.clock);
    this.#allowances = new Allowances(
      () => of.clock.now(),
      (caller, since) => of.cloister.runs({ caller, since }),
    );
    this.#tools = new ClientTools(of.clientToolMs ?? clientToolMsDefault);
  }

  get clients(): ClientRules {
    return this.#of.clients;
  }

  get running(): number {
    return this.#live.size;
  }

  agents(caller: Caller): readonly Agent[] {
    const entry = this.#entry(caller);
    const all = this.#of.cloister.agents;
    const known = this.#agents.get(entry);
    if (known?.all === all) return known.own;
    const { agents = this.#of.agents } = entry;
    const own = this.#of.agents.flatMap((name) =>
      agents.includes(name) ? (all.find((agent) => agent.name === name) ?? []) : [],
    );
    this.#agents.set(entry, { all, own });
    return own;
  }

  startRun(caller: Caller, asked: AgentRequest, signal?: AbortSignal): Promise<ServedRun> {
    const begun = this.#begin(caller, asked, signal);
    const nth = this.#begins++;
    this.#beginning.set(nth, begun);
    const over = (): void => this.#beginning.delete(nth);
    begun.then(over, over);
    return begun;
  }

  async #begin(caller: Caller, asked: AgentRequest, signal: AbortSignal | undefined): Promise<ServedRun> {
    const entry = this.#entry(caller);
    const agent = servedAgent(this, caller, asked.agent);
    // Nobody who asks has more than the agent's own definition gives.
    const budget = budgetWithin(budgetWithin(asked.budget, entry.budget), agent.budget);
    const { places } = this.#of;
    const seeking = {
      agent: agent.name,
      caller: caller.name,
      callerMax: entry.running ?? this.#of.runningPerCaller ?? Infinity,
    };
    const entered = places.acquire(seeking, signal);
    const leave = entered instanceof Promise ? await entered : entered;
    const place = createRunSlot(places, seeking, leave);
    let settle: SettleAllowance | undefined;
    let client: ClientRun | undefined;
    let resident: ResidentRun | undefined;
    let session: RunSession | undefined;
    try {
      client = this.#clientRun(caller, asked);
      if (asked.resident === true) resident = this.#residents.open(/* probe: resident-caller */ caller);
      if (entry.allowance !== undefined) settle = await this.#allowances.reserve(entry, budget);
      const options = { caller: caller.name, ...(Object.keys(budget).length === 0 ? {} : { budget }) };
      const started = startServedRun(
        this.#of.cloister,
        caller,
        asked,
        client === undefined ? options : { ...options, tools: client.definitions },
      );
      session = started instanceof Promise ? await started : started;
      return this.#serve(session, { caller, agent, asked, signal, place, settle, client, resident });
    } catch (error) {
      session?.cancel();
      client?.drop();
      resident?.drop();
      settle?.(session === undefined ? nothingSpent : null);
      place.end();
      throw error;
    }
  }

  async continueRun(caller: Caller, { results, said }: ClientToolResults, signal?: AbortSignal): Promise<ServedRun> {
    this.#checkOpen();
    const client = this.#tools.runOf(caller, results);
    const served = this.#served.get(client);
    if (served === undefined) throw new CloisterError('defect', 'A run waits that was not begun here.');
    return served.place.within(() => {
      try {
        this.#checkOpen();
        // Others may have brought them while this one was in line.
        this.#tools.take(caller, results);
      } catch (error) {
        if (client.waits) served.place.release();
        throw error;
      }
      for (const text of said) client.session.give(text);
      this.#begun.set(caller, client.session.run);
      return served.partOf(signal);
    }, signal);
  }

  #checkOpen(): void {
    if (this.#stopping) throw new CloisterError('server_stopping');
  }

  awaits(caller: Caller, calls: readonly string[]): boolean {
    return this.#tools.awaits(caller, calls);
  }

  async sendMessage(
    caller: Caller,
    run: string,
    { text, ...sending }: OutgoingMessage,
    signal?: AbortSignal,
  ): Promise<string> {
    const { session, summary } = await this.find(caller, run);
    if (session === null) throw new CloisterError('cell_ended', `Run ${summary.run} is not under way here.`);
    // probe: letter-send
    const send = (): string => session.send(text, sending);
    const resident = this.#live.get(summary.run)?.resident;
    return resident === undefined ? send() : resident.write(send, signal);
  }

  requestState(caller: Caller, run: string, nth: number): RequestState | undefined {
    return this.#tools.told(caller, run, nth);
  }

  #clientRun(caller: Caller, { tools = [], oneCall, resident }: AgentRequest): ClientRun | undefined {
    if (tools.length === 0) return undefined;
    if (!this.#of.clients.tools || resident === true)
      throw new CloisterError('request_unsupported', 'tools: an agent has tools of its own.');
    return this.#tools.open(caller, tools, oneCall);
  }

  runs(caller: Caller, most: number): Promise<readonly RunSummary[]> {
    return listCallerRuns(this.#of.cloister, this.#live, caller, most);
  }

  find(caller: Caller, run: string): Promise<FoundRun> {
    return findCallerRun(this.#of.cloister, this.#live, caller, run);
  }

  /** The run that was begun for this very request, if one was. */
  begunFor(caller: Caller): RunId | undefined {
    return this.#begun.get(caller);
  }

  /**
   * Waits for all that is under way, so long at most. Then no client ends a run any more by going away: what is left is as it is,
   * to be resumed; what cannot be, for its tools are with its client, is cancelled. Asked again, it may take less time.
   */
  async settle(graceMs: number): Promise<readonly RunId[]> {
    this.#stopping = true;
    this.#tools.stop();
    for (const { session } of this.#live.values()) finishResident(session);
    const late = Promise.withResolvers<void>();
    const stop = this.#of.clock.timer(graceMs, late.resolve);
    await Promise.race([this.#idle(), late.promise]);
    stop();
    this.#letGo = true;
    const left = this.#live.values();
    for (const { session, needsClient, leave } of left) {
      if (needsClient) session.cancel();
      else leave();
    }
    return left.filter(({ needsClient }) => !needsClient).map(({ session }) => session.run);
  }

  async #idle(): Promise<void> {
    while (this.#live.size + this.#beginning.size > 0)
      await Promise.allSettled([
        ...this.#beginning.values(),
        ...this.#live.values().map(({ session }) => session.outcome),
      ]);
  }

  #entry(caller: Caller): TokenEntry {
    const entry = this.#of.tokens.entry(caller);
    if (entry === undefined) throw new CloisterError('token_refused');
    return entry;
  }

  #serve(session: RunSession, begun: StartedRun): ServedRun {
    const { caller, agent, asked, signal, place, settle, client, resident } = begun;
    const { run, outcome } = session;
    const { clock, clients, ended } = this.#of;
    // probe: serve-started-at
    const startedAt = clock.now();
    const gone = (): void => {
      if (!this.#letGo) session.cancel();
    };
    const told = Promise.withResolvers<RunOutcome>();
    told.promise.catch(() => undefined);
    const { activity } = clients;
    const partOf = serveRun(session, { agent, asked, startedAt, activity, client, place, gone, outcome: told.promise });
    if (client !== undefined) this.#served.set(client, { partOf, place });
    const goal = typeof asked.input === 'string' ? asked.input : '';
    this.#live.set(run, {
      session,
      caller: caller.name,
      agent: agent.name,
      goal,
      startedAt,
      needsClient: client !== undefined,
      leave: () => told.reject(new CloisterError('server_stopping', `Run ${run} is left as it is, to be resumed.`)),
      resident,
      conversation: requestedConversation(caller, asked),
    });
    this.#begun.set(caller, run);
    resident?.attach(session, place);
    const over = (end: RunOutcome | null): void => {
      this.#live.delete(run);
      settle?.(end?.spent ?? null);
      place.end();
      if (end !== null) ended?.({ caller: caller.name, agent: agent.name, outcome: end });
    };
    outcome.then(over, () => over(null));
    outcome.then(told.resolve, told.reject);
    if (this.#stopping) finishResident(session);
    return partOf(signal);
  }
}

type StartedRun = {
  readonly caller: Caller;
  readonly agent: Agent;
  readonly asked: AgentRequest;
  readonly signal: AbortSignal | undefined;
  readonly place: RunSlot;
  readonly settle: SettleAllowance | undefined;
  readonly client: ClientRun | undefined;
  readonly resident: ResidentRun | undefined;
};
