// A fake agent service whose runs end as a test says, and a way to call its routes as the HTTP headend does.
import { agentNamed, CloisterError } from '#base';
import type { Json, JsonObject, RunId } from '#base';
import type {
  Agent,
  AnswerPiece,
  AgentRequest,
  AdmittedRequest,
  ClientRules,
  RouteReply,
  RunOutcome,
  ServedRun,
  ServerEvent,
  AgentService,
} from '#contracts';
import { defineAgent } from 'cloister';
import { anthropicRoutes } from '../../../src/headends/anthropic/index.ts';
import { noStudio } from '../no-studio.ts';
import { noCheckpoints } from '../no-checkpoints.ts';
import { noQuestions } from '../no-questions.ts';

export const now = Date.UTC(2026, 10, 16);

export type FakeServiceOptions = {
  readonly pieces?: readonly AnswerPiece[];
  readonly outcome?: Partial<RunOutcome>;
  readonly clients?: Partial<ClientRules>;
  readonly agents?: readonly Agent[];
  /** Thrown instead of starting a run. */
  readonly refuse?: Error;
};

export const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead well.' });

export const spent = {
  inputTokens: 70,
  cacheReadTokens: 20,
  cacheWriteTokens: 10,
  outputTokens: 9,
  usd: null,
  ms: 1,
  steps: 1,
  spawns: 0,
  uncertain: 0,
};

export const openFakeService = (options: FakeServiceOptions = {}) => {
  const started: AgentRequest[] = [];
  const routes = anthropicRoutes(fakeService(options, started), { now: () => now });

  const call = (route: string, asked: Partial<AdmittedRequest> = {}): Promise<RouteReply> => {
    const [method, path] = route.split(' ');
    const found = routes.find((one) => one.method === method && one.path === path);
    if (found === undefined) throw new Error(`No route ${route}.`);
    return found.answer({
      caller: { name: 'ann' },
      id: 'req_1',
      params: {},
      query: new URLSearchParams(),
      headers: new Headers(),
      body: undefined,
      signal: new AbortController().signal,
      ...asked,
    });
  };

  const body = async (route: string, asked: Partial<AdmittedRequest> = {}): Promise<JsonObject> => {
    const reply = await call(route, asked);
    if (!('body' in reply)) throw new Error('It streams.');
    return reply.body as JsonObject;
  };

  /** The events of a stream, as JSON with their names checked. */
  const stream = async (sent: JsonObject): Promise<readonly JsonObject[]> => {
    const reply = await call('POST /v1/messages', { body: { ...sent, stream: true } });
    if (!('events' in reply)) throw new Error('It does not stream.');
    const events: JsonObject[] = [];
    for await (const event of reply.events) events.push(parsedEvent(event));
    return events;
  };

  return { routes, begun: started, call, body, stream };
};

const parsedEvent = ({ event, data }: ServerEvent): JsonObject => {
  const parsed = JSON.parse(data) as JsonObject;
  if (parsed['type'] !== event) throw new Error(`Event ${event} holds ${data}.`);
  return parsed;
};

const fakeService = (options: FakeServiceOptions, started: AgentRequest[]): AgentService => ({
  clients: { system: false, tools: false, activity: false, compat: false, ...options.clients },
  agents: () => options.agents ?? [lead],
  agent: (_caller, name) => agentNamed(options.agents ?? [lead], name),
  template: () => null,
  ...noStudio,
  checkpoints: noCheckpoints,
  questions: noQuestions,
  startRun: async (_caller, asked) => {
    if (options.refuse !== undefined) throw options.refuse;
    started.push(asked);
    return fakeRun(asked.agent, options);
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
  requestState: () => undefined,
  runs: async () => ({ runs: [], next: null }),
  find: async () => {
    throw new Error('Nobody asks for that.');
  },
});

const fakeRun = (
  agent: string,
  { pieces = [{ type: 'text', text: 'Hi' }], outcome }: FakeServiceOptions,
): ServedRun => ({
  run: 'r1' as RunId,
  agent,
  startedAt: now,
  outcome: Promise.resolve({
    status: 'completed',
    output: pieces.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
    data: null as Json,
    failure: null,
    missing: [],
    spent,
    run: 'r1' as RunId,
    cell: 'c1',
    ...outcome,
  } as RunOutcome),
  events: async function* () {},
  pieces: async function* () {
    yield* pieces;
  },
  causes: async () => [],
  cancel: () => {},
});
