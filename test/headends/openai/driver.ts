// The only file of these tests that knows the headend's API: a fake service with one run, and a way to call a route.
import { agentNamed, CloisterError } from '#base';
import type { CellId, Failure, Json, JsonObject, RunId } from '#base';
import type {
  Agent,
  AnswerPiece,
  AgentRequest,
  Caller,
  ClientRules,
  CallerRun,
  RouteReply,
  RunOutcome,
  RunReport,
  DialogMessage,
  ServerEvent,
  AgentService,
  Spent,
  Status,
} from '#contracts';
import { openaiRoutes } from '#headends/openai';
import { noStudio } from '../no-studio.ts';
import { noCheckpoints } from '../no-checkpoints.ts';
import { noQuestions } from '../no-questions.ts';

export const run = '0b0e9f2c-5f0a-4b0e-8a9e-0d3c6e1f2a77';
export const startedAt = 1_700_000_000_500;
export const me = { name: 'me' };

export const spent: Spent = {
  inputTokens: 120,
  cacheReadTokens: 40,
  cacheWriteTokens: 8,
  outputTokens: 30,
  usd: null,
  ms: 5,
  steps: 2,
  spawns: 0,
  uncertain: 3,
};

export const makeOutcome = (status: Status, output: string, failure: Failure | null = null): RunOutcome => ({
  status,
  output,
  data: null,
  failure,
  missing: [],
  spent,
  run: run as RunId,
  cell: 'cell' as CellId,
});

export type FakeRun = {
  readonly pieces?: readonly AnswerPiece[];
  readonly outcome?: RunOutcome;
  /** The run could not be recorded. */
  readonly rejects?: unknown;
  readonly clients?: Partial<ClientRules>;
  /** The dialogs of the runs of `me`. */
  readonly dialogs?: Readonly<Record<string, readonly DialogMessage[]>>;
  readonly report?: Partial<RunReport>;
  /** The states of that run's requests, from the first on. */
  readonly requestStates?: readonly ReturnType<AgentService['requestState']>[];
};

export type FakeService = {
  readonly serving: AgentService;
  /** The requests that were started. */
  readonly started: AgentRequest[];
};

export const text = (...texts: readonly string[]): readonly AnswerPiece[] =>
  texts.map((words) => ({ type: 'text', text: words }));

const fakeAgent = (name: string): Agent =>
  ({
    name,
    description: `It is ${name}.`,
    signature: { input: { format: 'text' }, output: { format: 'text' } },
  }) as Agent;

const agentsOf = ({ name }: Caller): readonly Agent[] =>
  (name === me.name ? ['guide', 'cook'] : ['secret']).map(fakeAgent);

export const serve = (fakeRun: FakeRun = {}): FakeService => {
  const started: AgentRequest[] = [];
  const outcome = fakeRun.outcome ?? makeOutcome('completed', 'Paris.');
  const clients = { system: false, tools: false, activity: false, compat: false, ...fakeRun.clients };
  const service: AgentService = {
    clients,
    agents: agentsOf,
    agent: (caller, name) => agentNamed(agentsOf(caller), name),
    template: () => null,
    ...noStudio,
    checkpoints: noCheckpoints,
    questions: noQuestions,
    startRun: async (_caller, asked) => {
      started.push(asked);
      const ended = 'rejects' in fakeRun ? Promise.reject(fakeRun.rejects) : Promise.resolve(outcome);
      ended.catch(() => undefined);
      return {
        run: run as RunId,
        agent: asked.agent,
        startedAt,
        outcome: ended,
        events: async function* () {},
        pieces: async function* () {
          yield* fakeRun.pieces ?? text(outcome.output);
        },
        causes: async () => [],
        cancel: () => undefined,
      };
    },
    forkRun: async () => {
      throw new Error('not used');
    },
    resumeRun: async () => {
      throw new Error('not used');
    },
    continueRun: async () => {
      throw new CloisterError('request_invalid', 'No run waits.');
    },
    do: () => Promise.reject(new Error('Not here.')),
    runs: async () => ({ runs: [], next: null }),
    requestState: ({ name }, _run, nth) => (name === me.name ? fakeRun.requestStates?.[nth - 1] : undefined),
    find: async ({ name }, found) => {
      const said = name === me.name ? new Map(Object.entries(fakeRun.dialogs ?? {})).get(found) : undefined;
      if (said === undefined) throw new CloisterError('run_unknown');
      return { dialog: async () => said, report: async () => fakeRun.report as RunReport } as CallerRun;
    },
  };
  return { serving: service, started };
};

export type CallOptions = { readonly body?: Json; readonly as?: string; readonly query?: string };

/** `what`: for example `GET /v1/models/guide`. */
export const call = async (
  { serving: service }: FakeService,
  what: string,
  asking: CallOptions = {},
): Promise<RouteReply> => {
  const [method, path = ''] = what.split(' ');
  for (const route of openaiRoutes(service, { now: () => startedAt })) {
    const shape = new RegExp(`^${route.path.replaceAll(/:(\w+)/gu, '(?<$1>[^/]+)')}$`, 'u');
    const match = shape.exec(path);
    if (route.method !== method || match === null) continue;
    return route.answer({
      caller: { name: asking.as ?? me.name },
      id: 'req',
      params: Object.fromEntries(
        Object.entries(match.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
      ),
      query: new URLSearchParams(asking.query),
      headers: new Headers(),
      body: asking.body,
      signal: new AbortController().signal,
    });
  }
  throw new Error(`No route for ${what}`);
};

export const bodyOf = (reply: RouteReply): JsonObject => {
  if (!('body' in reply)) throw new Error('This is no JSON.');
  return reply.body as JsonObject;
};

export const eventsOf = async (reply: RouteReply): Promise<readonly ServerEvent[]> => {
  if (!('events' in reply)) throw new Error('These are no events.');
  const events: ServerEvent[] = [];
  for await (const event of reply.events) events.push(event);
  return events;
};

/** The error code that a promise was rejected with. */
export const codeOf = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise;
  } catch (error) {
    if (error instanceof CloisterError) return error.code;
    throw error;
  }
  return 'none';
};
