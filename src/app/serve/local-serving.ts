// The agents of one Cloister, served to the holders of tokens.
//
//   V1. A caller reaches its own agents, runs and conversations; all others are unknown to it, not forbidden.
//   V2. A request is a run of its own, within the budget of its token, and holds a place until it has ended or waits for its client.
import { CloisterError, nearest } from '#base';
import type { RunId } from '#base';
import type {
  Agent,
  Asked,
  Budget,
  Caller,
  CallResult,
  ClientRules,
  Clock,
  Cloister,
  FoundRun,
  RunOutcome,
  RunSession,
  RunSummary,
  ServedRun,
  Serving,
  ToolDefinition,
} from '#contracts';
import { Allowances } from './allowances.ts';
import type { Settle } from './allowances.ts';
import { budgetWithin } from './budget-within.ts';
import { conversationOf } from './conversation-of.ts';
import type { ClientRun } from './client-run.ts';
import { clientToolMsDefault, ClientTools } from './client-tools.ts';
import { findRun, listRuns } from './find-run.ts';
import type { LiveRun } from './find-run.ts';
import type { Places } from './places.ts';
import { placeOf, serveRun } from './serve-run.ts';
import type { PartOf, Place } from './serve-run.ts';
import type { TokenBook, TokenEntry } from './token-book.ts';

export type ServingOf = {
  readonly cloister: Cloister;
  /** Names of the agents that are served. */
  readonly agents: readonly string[];
  readonly tokens: TokenBook;
  readonly places: Places;
  /** Of a token that does not say. */
  readonly runningPerCaller?: number;
  readonly clients: ClientRules;
  readonly now: () => number;
  /** How long a client may take for one call of its tools. */
  readonly clientToolMs?: number;
  /** Hears of every run that has ended. */
  readonly ended?: (run: EndedRun) => void;
};

export type EndedRun = { readonly caller: string; readonly agent: string; readonly outcome: RunOutcome };

export class LocalServing implements Serving {
  readonly #of: ServingOf;
  readonly #live = new Map<RunId, LiveRun>();
  readonly #allowances: Allowances;
  readonly #tools: ClientTools;
  /** What each token may ask, of those that are registered. */
  readonly #agents = new WeakMap<TokenEntry, { readonly all: readonly Agent[]; readonly own: readonly Agent[] }>();
  /** By the caller as it came with one request. */
  readonly #begun = new WeakMap<Caller, RunId>();
  /** How a further request gets its part of a run. */
  readonly #served = new WeakMap<ClientRun, PartOf>();
  /** Those that wait for a place, or for their beginning. */
  readonly #beginning = new Set<Promise<ServedRun>>();
  #stopping = false;
  #letGo = false;

  constructor(of: ServingOf) {
    this.#of = of;
    this.#allowances = new Allowances(of.now, (caller) => of.cloister.runs({ caller }));
    this.#tools = new ClientTools(of.clientToolMs ?? clientToolMsDefault);
  }

  get clients(): ClientRules {
    return this.#of.clients;
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

  begin(caller: Caller, asked: Asked, signal?: AbortSignal): Promise<ServedRun> {
    const begun = this.#begin(caller, asked, signal);
    this.#beginning.add(begun);
    const over = (): void => void this.#beginning.delete(begun);
    begun.then(over, over);
    return begun;
  }

  async #begin(caller: Caller, asked: Asked, signal: AbortSignal | undefined): Promise<ServedRun> {
    const entry = this.#entry(caller);
    const agent = this.#agent(caller, asked.agent);
    // Nobody who asks has more than the agent's own definition gives.
    const budget = budgetWithin(budgetWithin(asked.budget, entry.budget), agent.budget);
    const { places } = this.#of;
    const seeking = {
      agent: agent.name,
      caller: caller.name,
      callerMax: entry.running ?? this.#of.runningPerCaller ?? Infinity,
    };
    const entered = places.enter(seeking, signal);
    const leave = entered instanceof Promise ? await entered : entered;
    const place = placeOf(leave, () => places.enterAgain(seeking));
    let settle: Settle | undefined;
    let client: ClientRun | undefined;
    let session: RunSession | undefined;
    try {
      client = this.#clientRun(caller, asked);
      if (entry.allowance !== undefined) settle = await this.#allowances.reserve(entry, budget);
      const options = { caller: caller.name, ...(Object.keys(budget).length === 0 ? {} : { budget }) };
      const started = this.#start(
        caller,
        asked,
        client === undefined ? options : { ...options, tools: client.definitions },
      );
      session = started instanceof Promise ? await started : started;
      return this.#serve(session, { caller, agent, asked, signal, place, settle, client });
    } catch (error) {
      session?.cancel();
      client?.drop();
      settle?.(session === undefined ? nothingSpent : null);
      place.leave();
      throw error;
    }
  }

  goOn(caller: Caller, results: readonly CallResult[], signal?: AbortSignal): ServedRun {
    if (this.#stopping) throw new CloisterError('server_stopping');
    const client = this.#tools.take(caller, results);
    const { run } = client.session;
    const begun = this.#served.get(client);
    if (begun === undefined) throw new CloisterError('defect', 'A run waits that was not begun here.');
    this.#begun.set(caller, run);
    return begun(signal);
  }

  awaits(caller: Caller, calls: readonly string[]): boolean {
    return this.#tools.awaits(caller, calls);
  }

  #clientRun(caller: Caller, { tools = [], oneCall, resident }: Asked): ClientRun | undefined {
    if (tools.length === 0) return undefined;
    if (!this.#of.clients.tools || resident === true)
      throw new CloisterError('request_unsupported', 'tools: an agent has tools of its own.');
    return this.#tools.open(caller, tools, oneCall);
  }

  runs(caller: Caller): Promise<readonly RunSummary[]> {
    return listRuns(this.#of.cloister, this.#live, caller);
  }

  find(caller: Caller, run: string): Promise<FoundRun> {
    return findRun(this.#of.cloister, this.#live, caller, run);
  }

  /** The run that was begun for this very request, if one was. */
  begunFor(caller: Caller): RunId | undefined {
    return this.#begun.get(caller);
  }

  /**
   * Waits for all that is under way, so long at most. Then no client ends a run any more by going away: what is left is as it is,
   * to be resumed.
   */
  async settle(graceMs: number, clock: Clock): Promise<readonly RunId[]> {
    this.#stopping = true;
    this.#tools.stop();
    for (const { session } of this.#live.values()) askToFinish(session);
    const late = Promise.withResolvers<void>();
    const stop = clock.timer(graceMs, late.resolve);
    await Promise.race([this.#idle(), late.promise]);
    stop();
    this.#letGo = true;
    return [...this.#live.keys()];
  }

  async #idle(): Promise<void> {
    while (this.#live.size + this.#beginning.size > 0)
      await Promise.allSettled([...this.#beginning, ...[...this.#live.values()].map(({ session }) => session.outcome)]);
  }

  #entry(caller: Caller): TokenEntry {
    const entry = this.#of.tokens.entry(caller);
    if (entry === undefined) throw new CloisterError('token_refused');
    return entry;
  }

  #agent(caller: Caller, name: string): Agent {
    const agents = this.agents(caller);
    const found = agents.find((agent) => agent.name === name);
    if (found !== undefined) return found;
    const names = agents.map((agent) => agent.name);
    const meant = nearest(name.slice(0, 80), names);
    const offered = names.length === 0 ? 'This token may ask none.' : `There are: ${names.join(', ')}.`;
    throw new CloisterError('agent_unknown', `${offered}${meant === null ? '' : ` Did you mean "${meant}"?`}`);
  }

  #start(
    caller: Caller,
    { agent, input, context, history, conversation, resident, format, schema }: Asked,
    options: { readonly caller: string; readonly budget?: Budget; readonly tools?: readonly ToolDefinition[] },
  ): RunSession | Promise<RunSession> {
    const { cloister } = this.#of;
    const given = { ...options, ...(context === undefined ? {} : { context }) };
    const kept = conversation === undefined ? {} : { conversation: conversationOf(caller, conversation) };
    if (history !== undefined && history.length > 0 && conversation !== undefined)
      throw new CloisterError('request_invalid', 'history: a conversation has its own; give one of the two.');
    const form = { ...(format === undefined ? {} : { format }), ...(schema === undefined ? {} : { schema }) };
    const before = history === undefined ? {} : { history };
    if (resident === true) {
      if (Object.keys(form).length > 0)
        throw new CloisterError('request_invalid', 'format: a resident answers in its own; leave it out, and schema.');
      return cloister.spawn(agent, { ...given, ...kept, ...before, message: input });
    }
    if (conversation !== undefined) return cloister.runTurn(agent, input, { ...given, ...form, ...kept });
    return cloister.run(agent, input, { ...given, ...form, ...before });
  }

  #serve(session: RunSession, { caller, agent, asked, signal, place, settle, client }: Begun): ServedRun {
    const { run, outcome } = session;
    const { now, clients, ended } = this.#of;
    const startedAt = now();
    const gone = (): void => {
      if (!this.#letGo) session.cancel();
    };
    const partOf = serveRun(session, { agent, asked, startedAt, activity: clients.activity, client, place, gone });
    if (client !== undefined) this.#served.set(client, partOf);
    const goal = typeof asked.input === 'string' ? asked.input : '';
    this.#live.set(run, { session, caller: caller.name, agent: agent.name, goal, startedAt });
    this.#begun.set(caller, run);
    const over = (end: RunOutcome | null): void => {
      this.#live.delete(run);
      settle?.(end?.spent ?? null);
      place.leave();
      if (end !== null) ended?.({ caller: caller.name, agent: agent.name, outcome: end });
    };
    outcome.then(over, () => over(null));
    if (this.#stopping) askToFinish(session);
    return partOf(signal);
  }
}

type Begun = {
  readonly caller: Caller;
  readonly agent: Agent;
  readonly asked: Asked;
  readonly signal: AbortSignal | undefined;
  readonly place: Place;
  readonly settle: Settle | undefined;
  readonly client: ClientRun | undefined;
};

/** One that was cancelled is on its way out by itself. */
const askToFinish = (session: RunSession): void => {
  if (!session.resident) return;
  try {
    session.finish();
  } catch (error) {
    if (!(error instanceof CloisterError) || error.code !== 'cell_ended') throw error;
  }
};

const nothingSpent = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  usd: 0,
  ms: 0,
  steps: 0,
  spawns: 0,
  uncertain: 0,
};
