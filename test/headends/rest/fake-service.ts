// A fake AgentService that records requests and answers as a test says, and a way to call routes without a server.
import { noStudio } from '../no-studio.ts';
import { agentNamed, CloisterError } from '#base';
import type { CellId, Hash, Json, JsonObject, RunId } from '#base';
import type {
  CallerQuestion,
  CallerQuestions,
  Agent,
  AgentRequest,
  AdmittedRequest,
  Caller,
  DurableEvent,
  CallerCheckpoint,
  CallerCheckpoints,
  CallerRun,
  CallerRunReports,
  ForkRequest,
  HttpRoute,
  RouteReply,
  RunEvent,
  RunOutcome,
  RunReport,
  RunSession,
  RunListQuery,
  RunPage,
  RunSummary,
  ServerEvent,
  AgentService,
  RunCommand,
  RunCommandName,
  RunCommandResults,
} from '#contracts';
import { defineAgent } from '#core/orchestration';
import { restRoutes } from '#headends/rest';

export const writer = defineAgent({
  name: 'writer',
  description: 'Writes texts.',
  usage: 'Write about tea.',
  prompt: 'Write.',
  models: ['rehearsal/small'],
});

export const counter = defineAgent({
  name: 'counter',
  description: 'Counts.',
  prompt: 'Count.',
  models: ['rehearsal/small'],
  input: { format: 'json', schema: { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] } },
  output: { format: 'json', schema: { type: 'object', properties: { count: { type: 'integer' } } } },
});

export const ana: Caller = { name: 'ana' };
export const ben: Caller = { name: 'ben' };

export const spent = {
  inputTokens: 10,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 5,
  usd: null,
  ms: 12,
  steps: 1,
  spawns: 0,
  uncertain: 0,
};

export const rootCell = 'writer-1' as CellId;

export const outcome = (over: Partial<RunOutcome> = {}): RunOutcome => ({
  run: 'r1' as RunId,
  cell: rootCell,
  status: 'completed',
  output: 'Tea is a drink.',
  data: null,
  failure: null,
  missing: [],
  spent,
  ...over,
});

const base = { agent: 'writer', agent_id: 'writer', recipient_id: null, correlation_id: null } as const;

export const eventsOf = (run: RunId): readonly DurableEvent[] => [
  {
    ...base,
    type: 'session-start',
    message_type: 'session-start',
    id: `${rootCell}/0`,
    run,
    cell: rootCell,
    at: 1,
    parent: null,
    tool: null,
    depth: 0,
    goal: 'x\n\ndata: y',
  },
  {
    ...base,
    type: 'session-end',
    message_type: 'session-end',
    id: `${rootCell}/1b`,
    run,
    cell: rootCell,
    at: 2,
    status: 'completed',
    spent,
    error: null,
  },
];

const checkpoint: CallerCheckpoint = {
  id: 'c0ffee123456',
  agent: 'writer',
  run: 'r1' as RunId,
  conversation: { agent: 'writer', name: 'tea' },
  frames: 3,
  hash: '' as Hash,
  at: 1,
  why: 'asked',
  label: '',
};

type StoredRun = {
  readonly caller: string;
  readonly request: AgentRequest;
  readonly signal: AbortSignal | undefined;
  readonly outcome: RunOutcome;
  /** Null if the run has ended. */
  readonly session: RunSession | null;
  readonly state: RunSummary['state'];
};

export type Behaviour = {
  readonly outcome?: Partial<RunOutcome>;
  /** If set, runs do not end: they have this session. */
  readonly session?: Partial<RunSession>;
  readonly state?: RunSummary['state'];
  readonly startThrows?: CloisterError;
  readonly outcomeRejects?: Error;
  readonly eventsThrow?: Error;
};

const question: CallerQuestion = {
  id: 'q-r1-3',
  run: 'r1' as RunId,
  cell: rootCell,
  agent: 'writer',
  path: ['writer'],
  tool: 'send',
  args: { to: 'x' },
  sha256: '0',
  why: 'tool',
  askedAt: 1,
  until: 2,
  need: 2,
  by: ['ops'],
  not: 'asker',
  answers: [{ by: 'ops', allow: true, at: 1, args: { to: 'y' } }],
  state: 'open',
  mayAnswer: false,
};

export class FakeService implements AgentService {
  readonly clients = { system: false, tools: false, activity: false, compat: false };
  readonly accounts = noStudio.accounts;
  readonly conversations = noStudio.conversations;
  readonly deadLetters = noStudio.deadLetters;
  readonly storage = noStudio.storage;
  readonly topology = noStudio.topology;
  readonly storedRuns = new Map<string, StoredRun>();
  readonly behaviour: Behaviour;
  readonly routes: readonly HttpRoute[];
  readonly agentsByCaller: Readonly<Record<string, readonly Agent[]>> = { ana: [writer, counter], ben: [writer] };

  constructor(behaviour: Behaviour = {}) {
    this.behaviour = behaviour;
    this.routes = restRoutes(this, { version: '1.2.3' });
  }

  agent(caller: Caller, name: string): Agent {
    return agentNamed(this.agents(caller), name, 'this token may not run any agent.');
  }

  agents({ name }: Caller): readonly Agent[] {
    return this.agentsByCaller[name] ?? [];
  }

  template(caller: Caller, name: string): string | null {
    return `---\n# ${this.agent(caller, name).name}\n---\n`;
  }

  readonly questions: CallerQuestions = {
    list: async () => [question],
    find: async () => ({ ...question, caller: 'ben' }),
    followRun: () => Promise.reject(new CloisterError('run_unknown')),
    answer: async () => ({
      question: question.id,
      run: question.run,
      state: this.behaviour.state === 'ended' ? 'stored' : 'waiting',
    }),
  };
  /** One, of the run r1. */
  readonly checkpoints: CallerCheckpoints = {
    list: async () => [checkpoint],
    show: async () => ({
      checkpoint,
      continues: true,
      cells: [
        {
          cell: rootCell,
          parent: null,
          agent: 'writer',
          depth: 0,
          status: 'running',
          steps: 1,
          windowBytes: 100,
          tokens: 15,
          crossings: 1,
        },
      ],
      files: [{ cell: rootCell, path: 'tea.md', bytes: 3, sha256: '' as Hash }],
    }),
    create: async (_caller, _run, { label = '' } = {}) => ({ ...checkpoint, label }),
    diff: async () => ({
      one: checkpoint,
      other: checkpoint,
      cells: {
        added: [],
        removed: [],
        changed: [
          { cell: rootCell, agent: 'writer', windowBytes: [1, 2], steps: [1, 2], status: ['running', 'completed'] },
        ],
      },
      files: { added: ['tea.md'], removed: [], changed: [] },
      tokens: [1, 2],
      crossings: [1, 1],
    }),
    restore: async () => ({ checkpoint: checkpoint.id, conversation: checkpoint.conversation, run: null }),
    branch: async (caller, _id, _options, signal) => ({
      checkpoint: checkpoint.id,
      conversation: null,
      run: await this.startRun(caller, { agent: 'writer', input: 'x' }, signal),
    }),
  };

  async startRun(caller: Caller, asked: AgentRequest, signal?: AbortSignal) {
    const { startThrows, outcomeRejects } = this.behaviour;
    if (!this.agents(caller).some(({ name }) => name === asked.agent)) throw new CloisterError('agent_unknown');
    if (startThrows !== undefined) throw startThrows;
    const run = `r${this.storedRuns.size + 1}` as RunId;
    const ended = outcome({ run, ...this.behaviour.outcome });
    const session = this.behaviour.session === undefined ? null : fakeSession(run, ended, this.behaviour.session);
    const state = this.behaviour.state ?? (session === null ? 'ended' : 'running');
    this.storedRuns.set(run, { caller: caller.name, request: asked, signal, outcome: ended, session, state });
    const settled = outcomeRejects === undefined ? Promise.resolve(ended) : Promise.reject(outcomeRejects);
    settled.catch(() => undefined);
    return {
      run,
      agent: asked.agent,
      startedAt: 1,
      outcome: settled,
      events: () => this.#events(run),
      pieces: () => nothing(),
      causes: async () => undefined,
      cancel: () => undefined,
    };
  }

  async resumeRun(caller: Caller, run: string) {
    const { session, summary } = await this.find(caller, run);
    if (session !== null || summary.state === 'running') throw new CloisterError('run_owned');
    if (summary.state === 'ended') throw new CloisterError('run_ended');
    const { outcome: ended } = this.storedRuns.get(run)!;
    return {
      run: summary.run,
      agent: summary.agent,
      startedAt: 1,
      outcome: Promise.resolve(ended),
      events: () => this.#events(summary.run),
      pieces: () => nothing(),
      causes: async () => undefined,
      cancel: () => undefined,
    };
  }

  async forkRun(caller: Caller, run: string, { goal = '' }: ForkRequest, signal?: AbortSignal) {
    const { summary } = await this.find(caller, run);
    return this.startRun(caller, { agent: summary.agent, input: goal }, signal);
  }

  async continueRun(): Promise<never> {
    throw new Error('Nobody asks for that.');
  }

  requestState(): undefined {
    return undefined;
  }

  async retryRun(caller: Caller, run: string, signal?: AbortSignal) {
    return this.forkRun(caller, run, { at: rootCell }, signal);
  }

  async runs({ name }: Caller, { most }: RunListQuery): Promise<RunPage> {
    const all = [...this.storedRuns]
      .filter(([, kept]) => kept.caller === name)
      .map(([run, kept]) => ({
        ...summaryOf(run as RunId, kept),
        crossings: 2,
        refused: 1,
        fork: null,
        conversation: { agent: 'writer', name: 'trip' },
      }))
      .reverse();
    return { runs: all.slice(0, most), next: all.length > most ? (all[most - 1]?.run ?? null) : null };
  }

  async find({ name }: Caller, run: string): Promise<CallerRun> {
    const kept = this.storedRuns.get(run);
    if (kept === undefined || kept.caller !== name) throw new CloisterError('run_unknown');
    return {
      conversation: async () => ({ agent: 'writer', name: 'trip' }),
      summary: summaryOf(run as RunId, kept),
      session: kept.session,
      report: async () => reportOf(run as RunId, kept),
      causes: async () => undefined,
      attachments: async () => [],
      dialog: async () => [{ by: 'person', text: 'x' }],
      transcript: async () => ({ run: run as RunId, cells: [] }),
      ...emptyReports(run as RunId),
      events: ({ after } = {}) => this.#events(run as RunId, after),
      eventPage: async ({ limit }) => ({ events: eventsOf(run as RunId).slice(0, limit), next: null }),
    };
  }

  async do<K extends RunCommandName>(
    caller: Caller,
    run: string,
    command: RunCommand<K>,
  ): Promise<RunCommandResults[K]> {
    const { summary } = await this.find(caller, run);
    const { session } = this.storedRuns.get(summary.run)!;
    if (session === null) throw new CloisterError('cell_ended');
    return session.do(command);
  }

  async *#events(run: RunId, after?: string): AsyncGenerator<RunEvent> {
    const all = eventsOf(run);
    const from = after === undefined ? 0 : 1 + all.findIndex(({ id }) => id === after);
    for (const event of all.slice(from)) {
      yield event;
      if (this.behaviour.eventsThrow !== undefined) throw this.behaviour.eventsThrow;
      yield { type: 'text-delta', text: 'data: x\n\nevent: outcome\n', run, cell: rootCell, agent: 'writer' };
    }
  }
}

/** Nothing was recorded. */
const emptyReports = (run: RunId): CallerRunReports => ({
  explain: async (cell) => ({
    run,
    cell: cell as CellId,
    agent: 'writer',
    find: null,
    attempts: [],
    segments: [],
  }),
  audit: async () => ({
    run,
    recordedBy: null,
    ok: true,
    crossings: 0,
    refused: 0,
    prompts: 0,
    promptBytes: 0,
    unattributedBytes: 0,
    cells: 0,
    problems: [],
  }),
  windows: async () => [],
  ledger: async () => [],
  tasks: async () => [],
  mail: async () => [],
  replay: async () => ({
    run,
    ok: true,
    frames: 0,
    same: 0,
    hash: { recorded: '' as Hash, replayed: '' as Hash },
    outcome: null,
    differences: [],
  }),
  diff: async (other) => ({ one: run, other: other as RunId, fork: null, sameFrames: 0, same: true, cells: [] }),
});

const fakeSession = (run: RunId, ended: RunOutcome, over: Partial<RunSession>): RunSession =>
  ({
    run,
    outcome: Promise.resolve(ended),
    resident: true,
    [Symbol.asyncIterator]: nothing,
    do: (command: RunCommand) => doBy(over, command),
    ...over,
  }) as RunSession;

const doBy = (session: Partial<RunSession>, command: RunCommand) => {
  if (command.do === 'send') {
    const { do: _do, text, ...target } = command;
    return session.send?.(text, target);
  }
  if (command.do === 'spawn') {
    const { do: _do, ...request } = command;
    return session.spawn?.(request);
  }
  return command.do === 'finish' ? session.finish?.(command.name) : session.cancel?.();
};

const nothing = async function* (): AsyncGenerator<never> {};

const summaryOf = (run: RunId, { request, caller, state, outcome: ended }: StoredRun): RunSummary => ({
  run,
  agent: request.agent,
  goal: 'x',
  startedAt: 1,
  endedAt: state === 'ended' ? 2 : null,
  state,
  status: state === 'ended' ? ended.status : null,
  cells: 1,
  owner: 'pid 42 on some-host',
  caller,
  recordedBy: null,
  spent: state === 'ended' ? spent : null,
});

const noTraffic = { calls: 0, failed: 0, bytesIn: 0, charsIn: 0, bytesOut: 0, charsOut: 0, ms: 0 };
const figures = { requests: noTraffic, tools: noTraffic, agents: noTraffic, byModel: [], byTool: [], byAgent: [] };

const reportOf = (run: RunId, { request, state, outcome: ended }: StoredRun): RunReport => {
  const isOver = state === 'ended';
  const { run: _run, cell: _cell, ...rest } = ended;
  return {
    run,
    agent: request.agent,
    goal: 'x',
    caller: null,
    recordedBy: null,
    budget: { tokens: 1000 },
    fork: { run: 'r0' as RunId, at: rootCell },
    continuedBy: [],
    requestHash: null,
    attachments: [],
    history: [],
    status: isOver ? ended.status : state === 'running' ? 'running' : 'interrupted',
    output: isOver ? ended.output : '',
    spent,
    startedAt: 1,
    endedAt: isOver ? 2 : null,
    cells: [
      {
        cell: rootCell,
        parent: null,
        agent: request.agent,
        depth: 0,
        status: isOver ? ended.status : null,
        turns: 1,
        spent,
        own: spent,
        waitedMs: 0,
        figures: { own: figures, total: figures },
        stalls: { count: 0, longestMs: 0 },
        models: [],
        outcome: isOver ? rest : null,
      },
    ],
    events: eventsOf(run),
    causes: [],
  };
};

export type SendOptions = {
  readonly caller?: Caller;
  readonly body?: Json;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
};

/** `address`: the path with its query. The first matching route answers, as in a server. */
export const send = async (
  routes: readonly HttpRoute[],
  method: HttpRoute['method'],
  address: string,
  { caller = ana, body, headers = {}, signal = new AbortController().signal }: SendOptions = {},
): Promise<RouteReply> => {
  const { pathname, searchParams } = new URL(address, 'http://localhost');
  for (const route of routes) {
    const params = paramsOf(route, pathname);
    if (route.method !== method || params === null) continue;
    const call: AdmittedRequest = {
      caller,
      id: 'q1',
      params,
      query: searchParams,
      headers: new Headers(headers),
      body,
      signal,
    };
    return route.answer(call);
  }
  throw new CloisterError('route_unknown');
};

export const paramsOf = ({ path }: Pick<HttpRoute, 'path'>, pathname: string): Record<string, string> | null => {
  const [wanted, given] = [path.split('/'), pathname.split('/')];
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [place, part] of wanted.entries()) {
    const value = given[place]!;
    if (part.startsWith(':') && value !== '') params[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return null;
  }
  return params;
};

export const json = (reply: RouteReply): { readonly status: number; readonly body: JsonObject } => {
  if (!('body' in reply)) throw new Error('It gives events.');
  return { status: reply.status, body: reply.body as JsonObject };
};

export const streamed = async (reply: RouteReply): Promise<readonly ServerEvent[]> => {
  if (!('events' in reply)) throw new Error('It gives no events.');
  const events: ServerEvent[] = [];
  for await (const event of reply.events) events.push(event);
  return events;
};

/** The error that a promise is rejected with. */
export const refusal = async (asked: Promise<unknown>): Promise<CloisterError> =>
  asked.then(
    () => {
      throw new Error('It was not refused.');
    },
    (error: unknown) => {
      if (error instanceof CloisterError) return error;
      throw error;
    },
  );
