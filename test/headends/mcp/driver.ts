// The only file of these tests that knows the headend's API: fake agents, and the routes behind the HTTP headend.
import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { defineAgent } from 'cloister';
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type { Agent, AgentRequest, Caller, Clock, RunEvent, RunOutcome, AgentService } from '#contracts';
import { BodyBudget, buildApp, defaultLimits, Gate, listen, socketUpgrade } from '#headends/http';
import type { HttpApp } from '#headends/http';
import { mcpRoutes, serveMcpStdio } from '#headends/mcp';
import { rpcError } from '../../../src/headends/mcp/rpc.ts';
import { realClock } from '../http/test-server.ts';
import { noStudio } from '../no-studio.ts';
import { noCheckpoints } from '../no-checkpoints.ts';
import { noQuestions } from '../no-questions.ts';

export const testWorld = (clock: Clock = realClock): Parameters<typeof mcpRoutes>[1] & { readonly clock: Clock } => ({
  clock,
  ids: { random: () => randomBytes(6).toString('hex') },
  version: '1.2.3',
  isStopping: () => false,
});

const agent = (name: string, more: Partial<Parameters<typeof defineAgent>[0]> = {}): Agent =>
  defineAgent({ name, description: `I am ${name}.`, prompt: 'p', ...more });

export const placeSchema = {
  type: 'object',
  properties: { town: { type: 'string' } },
  required: ['town'],
  additionalProperties: false,
} as const;

export const agents: Readonly<Record<string, Agent>> = {
  echo: agent('echo'),
  long: agent('long'),
  hang: agent('hang'),
  busy: agent('busy'),
  fail: agent('fail'),
  crash: agent('crash'),
  part: agent('part'),
  map: agent('map', {
    input: { format: 'json', schema: placeSchema },
    output: { format: 'json', schema: placeSchema },
  }),
  list: agent('list', { output: { format: 'json', schema: { type: 'array' } } }),
};

export const makeOutcome = (output: string, more: Partial<RunOutcome> = {}): RunOutcome => ({
  status: 'completed',
  output,
  data: null,
  failure: null,
  missing: [],
  spent: {
    inputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 0,
    usd: null,
    ms: 0,
    steps: 0,
    spawns: 0,
    uncertain: 0,
  },
  run: 'run' as RunId,
  cell: 'cell' as CellId,
  ...more,
});

/** Counts named events, and lets tests wait for them. */
export class EventCounts {
  readonly #counts = new Map<string, number>();
  #waiting: (() => void)[] = [];

  add(what: string): void {
    this.#counts.set(what, this.count(what) + 1);
    const told = this.#waiting;
    this.#waiting = [];
    for (const tell of told) tell();
  }

  count(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  /** Waits until the event has happened so often; returns the count. */
  async waitFor(what: string, times = 1): Promise<number> {
    while (this.count(what) < times) await new Promise<void>((tell) => this.#waiting.push(tell));
    return this.count(what);
  }
}

export type FakeService = {
  readonly serving: AgentService;
  readonly counts: EventCounts;
  readonly started: { readonly caller: string; readonly asked: AgentRequest }[];
};

/** `notes`: how many rounds of events the agent `busy` emits. Callers whose name begins with `no` may run no agent. */
export const fakeService = ({
  notes = 2,
  names = Object.keys(agents).filter((name) => name !== 'long'),
}: FakeOptions = {}): FakeService => {
  const happened = new EventCounts();
  const started: FakeService['started'] = [];
  const service: AgentService = {
    clients: { system: false, tools: false, activity: false, compat: false },
    agent: (_caller, name) => agents[name]!,
    template: () => null,
    ...noStudio,
    checkpoints: noCheckpoints,
    questions: noQuestions,
    agents: ({ name }) => (name.startsWith('no') ? [] : names.map((each) => agents[each]!)),
    startRun: async (caller, asked, signal) => {
      started.push({ caller: caller.name, asked });
      signal?.throwIfAborted();
      happened.add(`begin ${caller.name}`);
      return {
        run: 'run' as RunId,
        agent: asked.agent,
        startedAt: 0,
        outcome: fakeOutcome(caller, asked, signal, happened),
        events: async function* () {
          if (asked.agent === 'crash') await new Promise((resolve) => setImmediate(resolve));
          if (asked.agent !== 'busy') return;
          for (let at = 0; at < notes; at++) yield* progressEvents(at * 1_000);
          happened.add(`told ${caller.name}`);
        },
        pieces: () => {
          throw new Error('not used');
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
      throw new Error('not used');
    },
    do: () => Promise.reject(new Error('Not here.')),
    requestState: () => undefined,
    runs: async () => ({ runs: [], next: null }),
    find: async () => {
      throw new CloisterError('run_unknown');
    },
  };
  return { serving: service, counts: happened, started };
};

type FakeOptions = { readonly notes?: number; readonly names?: readonly string[] };

const fakeOutcome = async (
  caller: Caller,
  asked: AgentRequest,
  signal: AbortSignal | undefined,
  happened: EventCounts,
): Promise<RunOutcome> => {
  switch (asked.agent) {
    case 'hang':
      await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve(), { once: true }));
      happened.add(`cancel ${caller.name}`);
      return makeOutcome('', { status: 'cancelled', failure: { code: 'cancelled' } });
    case 'busy':
      await happened.waitFor('heard');
      return makeOutcome('Done.');
    case 'fail':
      return makeOutcome('', {
        status: 'failed',
        failure: { code: 'defect', detail: 'sk-secret of the provider' },
      });
    case 'crash':
      throw new Error('sk-secret at /home/operator/file.ts:1:2');
    case 'part':
      return makeOutcome('Half of it.', { status: 'timeout', failure: { code: 'deadline_passed' } });
    case 'map':
      return makeOutcome(JSON.stringify(asked.input), { data: asked.input });
    case 'list':
      return makeOutcome('[1]', { data: [1] });
    case 'long':
      return makeOutcome('x'.repeat(1_000_000));
    default:
      return makeOutcome(`${caller.name}: ${JSON.stringify(asked.input)}`, {
        data: asked.schema === undefined ? null : { said: asked.input },
      });
  }
};

const progressEvents = (at: number): RunEvent[] => {
  const base = { run: 'run', cell: 'cell', agent: 'busy', at };
  return [
    { ...base, type: 'child-start', childAgent: 'helper', tool: 'helper' },
    { ...base, type: 'tool-start', agent: 'helper', tool: 'search', args: '{"q":"sk-secret"}' },
    { ...base, type: 'tool-end', agent: 'helper', tool: 'search', ok: true },
    { ...base, type: 'child-end', childAgent: 'helper', tool: 'helper', ok: true, status: 'completed' },
    { ...base, type: 'text-delta', text: 'sk-secret' },
  ] as unknown as RunEvent[];
};

/** The routes, behind the HTTP headend. */
type McpRoutes = Awaited<ReturnType<typeof mcpRoutes>>;
export type RoutedApp = McpRoutes & { readonly clock: Clock; readonly app: HttpApp };

export const mcpApp = async (fake: FakeService, world = testWorld()): Promise<RoutedApp> =>
  routedApp(await mcpRoutes(fake.serving, world), world.clock);

/** The token of a caller is its name. */
const gate = new Gate({
  hosts: ['127.0.0.1', 'localhost'],
  origins: [],
  identify: (token) => ({ name: token }),
  admit: () => undefined,
  admitOpen: () => undefined,
});

export const routedApp = (routes: McpRoutes, clock: Clock = realClock): RoutedApp => {
  const app = buildApp({
    routes: routes.routes,
    formatError: rpcError,
    gate,
    limits: defaultLimits,
    bodies: new BodyBudget(defaultLimits),
    clock,
    ids: { random: () => 'id' },
    redact: (text) => text,
    isStopping: () => false,
  });
  return { ...routes, clock, app };
};

export type RunningApp = {
  readonly url: string;
  /** Number of open WebSockets. */
  readonly sockets: number;
  /** Ends all connections. */
  drop(): void;
  close(): Promise<void>;
};

/** On a real port. */
export const serveRoutes = async ({ app, sockets, clock }: RoutedApp): Promise<RunningApp> => {
  const bodies = new BodyBudget(defaultLimits);
  const upgrade = socketUpgrade(sockets, { gate, limits: defaultLimits, bodies, clock, isStopping: () => false });
  const listening = await listen(app, { host: '127.0.0.1', port: 0, limits: defaultLimits, upgrade });
  return {
    url: `http://127.0.0.1:${listening.port}`,
    get sockets() {
      return listening.connections;
    },
    drop: () => listening.cut(),
    close: async () => {
      const closed = listening.close();
      listening.cut();
      await closed;
    },
  };
};

export type Pipes = {
  readonly toServer: PassThrough;
  readonly fromServer: PassThrough;
  readonly served: Awaited<ReturnType<typeof serveMcpStdio>>;
};

export const serveOnPipes = async (fake: FakeService, caller: Caller = { name: 'me' }): Promise<Pipes> => {
  const [toServer, fromServer] = [new PassThrough(), new PassThrough()];
  const streams = { input: toServer, output: fromServer };
  return { toServer, fromServer, served: await serveMcpStdio(fake.serving, caller, streams, { version: '1.2.3' }) };
};
