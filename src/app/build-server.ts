// Assembles a server of agents: which callers it admits, which agents it serves, and over which protocols.
import { basename, dirname, resolve } from 'node:path';
import { CloisterError } from '#base';
import { stdioCaller } from '#contracts';
import type { TopologyCheck, Caller, Clock, Cloister, HttpRoute, OpenRoute, PlainRoute, RunEngine } from '#contracts';
import { agUiRoutes } from '#headends/ag-ui';
import { anthropicRoutes } from '#headends/anthropic';
import { BodyBudget, buildApp, defaultLimits, Gate, listen, socketUpgrade } from '#headends/http';
import type { AnsweredRequest, HttpApp, HttpLimits, HttpListener } from '#headends/http';
import { mcpRoutes, serveMcpStdio } from '#headends/mcp';
import { absentRoutes, openaiRoutes } from '#headends/openai';
import { pageRoutes } from '#headends/studio';
import type { PageFiles } from '#headends/studio';
import { openapiRoute, reservedNames, restError, restRoutes } from '#headends/rest';
import { uiStreamRoutes } from '#headends/ui-stream';
import { checkServerOptions } from './server-options.ts';
import { packageVersion } from './package-folder.ts';
import {
  checkHostsAndOrigins,
  checkServedAgents,
  checkTokenEntries,
  checkHost,
  hostsFor,
  listenUrl,
  LocalAgentService,
  SlotQueue,
  slotLimitsFor,
  RateLimiter,
  ReadinessCheck,
  temporaryTokenEntry,
  TokenRegistry,
} from '#app/serve';
import { hashToken, makeToken } from './make-token.ts';
import type { SlackEdge } from './open-slack.ts';
import type { Server, ServerOptions } from './server-options.ts';
import { loadStudioPage } from './studio-page.ts';
import { systemClock, systemIds } from './system-world.ts';

/** Throws `options_invalid` for agents, tokens or addresses that cannot be served. */
export const buildServer = async (
  cloister: Cloister,
  options: ServerOptions = {},
  kind: ServerKind = {},
): Promise<Server> => {
  checkServerOptions(options);
  const { host = '127.0.0.1', port = defaultPort } = options;
  checkHost(host, options.expose === true);
  checkHostsAndOrigins(options.hosts ?? [], options.origins ?? []);
  const slackEdge = await openSlackEdge(cloister, options);
  const service = openService(cloister, options, kind, slackEdge);
  const { agentService, gate, slots, clock, limits, bodies, about, isStopping } = service;
  const mcp = await mcpRoutes(agentService, { ...about, ids: service.ids, isStopping });
  const slack = slackEdge?.connect({
    service: agentService,
    inbox: cloister.inbox('slack'),
    clock,
    admit: (caller) => gate.admit(caller),
    redact: (text) => cloister.redact(text),
    formatError: restError,
  });
  const app = createApp(cloister, service, [...mcp.routes, ...(slack?.routes ?? [])], { ...options, ...kind });
  // Somebody who looks at a workspace deletes nothing by that.
  const mayExpire = options.expireRuns !== false && kind.isStudio !== true;
  let listening: HttpListener | undefined;
  let stdio: Awaited<ReturnType<typeof serveMcpStdio>> | undefined;
  return {
    token: service.token,
    agents: cloister.agents.filter(({ name }) => service.names.includes(name)),
    get running() {
      return agentService.running;
    },
    fetch: async (request) => app.fetch(request),
    async listen() {
      if (listening !== undefined) throw new CloisterError('options_invalid', 'The server is already listening.');
      const upgrade = socketUpgrade(mcp.sockets, { gate, limits, bodies, clock, isStopping });
      listening = await listen(app, { host, port, limits, upgrade });
      const state = await slack?.start();
      if (options.resumeInterrupted !== false) agentService.resumeInterruptedRuns();
      if (mayExpire) agentService.retention.start();
      const { port: taken } = listening;
      return { url: listenUrl(host, taken), port: taken, ...(state === undefined ? {} : { slack: state }) };
    },
    async serveStdio(streams) {
      if (mayExpire) agentService.retention.start();
      stdio = await serveMcpStdio(agentService, { name: stdioCaller, sees: 'contents' }, streams, about);
      return stdio;
    },
    async stop(graceMs = graceMsDefault) {
      // New requests are refused as stopping until the last run has ended.
      service.stop();
      slots.close();
      const retention = waitAtMost(clock, graceMs, agentService.retention.stop());
      const left = await agentService.drain(graceMs);
      await retention;
      await slack?.stop();
      // The last responses may still be in flight.
      const isFirm = graceMs === 0 && left.length > 0;
      if (listening !== undefined) await waitAtMost(clock, isFirm ? 0 : drainMs, listening.close());
      listening?.cut();
      await stdio?.close();
      return left;
    },
  };
};

const openSlackEdge = async (
  cloister: Cloister,
  { slack: config, ...options }: ServerOptions,
): Promise<SlackEdge | null> => {
  if (config === undefined) return null;
  const { clock = systemClock, log } = options;
  const { openSlack } = await import('./open-slack.ts');
  const note = (text: string): void => log?.({ type: 'slack', text: cloister.redact(text) });
  return openSlack({ config, served: servedNames(cloister, options), clock, log: note });
};

const servedNames = (cloister: Cloister, { agents }: Pick<ServerOptions, 'agents'>): readonly string[] =>
  agents ?? cloister.agents.map(({ name }) => name);

/** What only commands of this package ask for. */
type ServerKind = {
  /** The name of the generated token's holder, whose runs and conversations the next server then finds again. */
  readonly operatorName?: string;
  /** It may have no agents, and then only shows the workspace. */
  readonly isStudio?: boolean;
  /** What `cloister check` finds about the agents. */
  readonly checkTopology?: () => Promise<TopologyCheck | null>;
  /** Hands runs to workers. */
  readonly engine?: RunEngine;
  /** Loads the files of the studio's page; for tests. Default: those of this package. */
  readonly page?: () => Promise<PageFiles>;
};

/** Agents do not change while they are served. After a failure, the next caller tries again. */
const once = <T>(find: () => Promise<T>): (() => Promise<T>) => {
  let found: Promise<T> | undefined;
  return () =>
    (found ??= find().catch((error: unknown) => {
      found = undefined;
      throw error;
    }));
};

type Service = ReturnType<typeof openService>;

const openService = (
  cloister: Cloister,
  options: ServerOptions,
  { operatorName, isStudio = false, checkTopology, engine }: ServerKind,
  slack: SlackEdge | null,
) => {
  const { clock = systemClock, ids = systemIds, log } = options;
  const names = checkedNames(cloister, options, isStudio);
  const now = (): number => clock.now();
  const { token, tokens } = openTokens(options, { operatorName, now, slack });
  const slotLimits = slotLimitsFor(
    options.slots ?? {},
    (options.tokens ?? [null]).filter((one) => one?.may === undefined).length + (slack === null ? 0 : 1),
  );
  const slots = new SlotQueue(slotLimits);
  const limits = limitsFor(options);
  const gate = openGate(options, { tokens, now, openRequestsPerMinute: limits.openRequestsPerMinute });
  let stopping = false;
  const readiness = new ReadinessCheck({
    cloister,
    slots,
    clock,
    changed: (problems) => {
      log?.({ type: 'ready', problems: problems.map((problem) => cloister.redact(problem)) });
      // What the failure has interrupted continues without a restart.
      if (problems.length === 0 && !stopping && options.resumeInterrupted !== false)
        agentService.resumeInterruptedRuns();
    },
  });
  const agentService = new LocalAgentService({
    cloister,
    agents: names,
    tokens,
    slots,
    engine,
    runningPerCaller: slotLimits.runningPerCaller,
    clients: { system: false, tools: false, activity: false, compat: false, ...options.clients },
    ...(options.clientToolMs === undefined ? {} : { clientToolMs: options.clientToolMs }),
    ...(options.idempotencyHours === undefined ? {} : { keyMs: options.idempotencyHours * 3_600_000 }),
    clock,
    ...(checkTopology === undefined ? {} : { checkTopology: once(checkTopology) }),
    runLost: () => void readiness.recheck(),
    ...(log === undefined
      ? {}
      : {
          ended: (run) => log({ type: 'run', ...run }),
          resumeAttempted: (attempt) => log({ type: 'resume', ...attempt }),
          runsExpired: (pass) => log({ type: 'expire', ...pass }),
        }),
  });
  return {
    token,
    names,
    agentService,
    gate,
    slots,
    clock,
    ids,
    now,
    limits,
    bodies: new BodyBudget(limits),
    about: { version: packageVersion() },
    isOperator: (caller: Caller) => tokens.entry(caller)?.operator === true,
    readiness,
    isStopping: () => stopping,
    stop: () => {
      stopping = true;
      readiness.stop();
    },
  };
};

/** The agents that are served, if the options fit them. */
const checkedNames = (cloister: Cloister, options: ServerOptions, isStudio: boolean): readonly string[] => {
  const names = servedNames(cloister, options);
  if (names.length > 0 || !isStudio) checkServedAgents(names, cloister.agents, reservedNames);
  // A request cannot bring values of variables.
  cloister.checkVariables(names);
  if (options.tokens?.length === 0)
    throw new CloisterError('options_invalid', 'tokens: the list is empty, so no client could connect.');
  checkTokenEntries(options.tokens ?? [], names);
  return names;
};

const limitsFor = ({ slack, limits }: ServerOptions) => ({
  ...defaultLimits,
  ...(slack?.signingSecret === undefined ? {} : slackLimits),
  ...limits,
});

type GatePorts = {
  readonly tokens: TokenRegistry;
  readonly now: () => number;
  readonly openRequestsPerMinute: number;
};

const openGate = (options: ServerOptions, { tokens, now, openRequestsPerMinute }: GatePorts): Gate => {
  const { host = '127.0.0.1', hosts, origins = [] } = options;
  const [rates, openRates] = [new RateLimiter(now), new RateLimiter(now, openNetworksMax)];
  return new Gate({
    hosts: hostsFor(host, hosts),
    tlsHosts: hosts ?? [],
    origins,
    identify: (presented) => tokens.findCaller(presented),
    admit: (caller) => rates.consume(caller.name, tokens.entry(caller)?.requestsPerMinute),
    admitOpen: (network) => openRates.consume(network, openRequestsPerMinute, 'server_busy'),
  });
};

/** `token`: the one that was generated, unless some were given. */
const openTokens = (
  { tokens }: ServerOptions,
  { operatorName, now, slack }: Pick<ServerKind, 'operatorName'> & { now: () => number; slack: SlackEdge | null },
): { readonly token: string | null; readonly tokens: TokenRegistry } => {
  const token = tokens === undefined ? makeToken() : null;
  // The stdio caller needs an entry, but nobody holds its token.
  const stdio = { name: stdioCaller, sha256: hashToken(makeToken()) };
  const entries = token === null ? (tokens ?? []) : [temporaryTokenEntry(token, operatorName)];
  return { token, tokens: new TokenRegistry([...entries, stdio], now, slack?.entry) };
};

/** The usual name says nothing, so the folder around it is named instead. */
const folderName = (path: string | null): string | null => {
  if (path === null) return null;
  const whole = resolve(path);
  return basename(basename(whole) === '.cloister' ? dirname(whole) : whole);
};

const createApp = (
  cloister: Cloister,
  service: Service,
  plainRoutes: readonly (PlainRoute | OpenRoute)[],
  { log, page = loadStudioPage }: Pick<ServerOptions, 'log'> & Pick<ServerKind, 'page'>,
): HttpApp => {
  const { agentService, now, about } = service;
  const redact = (text: string): string => cloister.redact(text);
  const routes: HttpRoute[] = [
    ...restRoutes(agentService, { ...about, redact, workspace: folderName(cloister.workspace) }),
    ...openaiRoutes(agentService, { now }),
    ...anthropicRoutes(agentService, { now }),
    ...agUiRoutes(agentService, { formatError: restError }),
    ...uiStreamRoutes(agentService, { formatError: restError }),
    openapiRoute(() => routes, about),
  ];
  const answered = (request: AnsweredRequest): void => {
    const { caller } = request;
    const run = caller === null ? null : (agentService.runFor(caller) ?? null);
    log?.({ type: 'request', ...request, caller: caller?.name ?? null, run });
  };
  return buildApp({
    ...service,
    routes: [...routes, ...absentRoutes, ...plainRoutes, ...pageRoutes({ load: page, formatError: restError })],
    formatError: restError,
    redact,
    onAnswered: answered,
    findProblems: () => service.readiness.problems(),
    operatorHealth: (caller) => {
      // probe: health-operator
      if (!service.isOperator(caller)) return undefined;
      return { stalls: cloister.stalls, problems: service.readiness.known.map(redact) };
    },
  });
};

const [drainMs, graceMsDefault, defaultPort] = [1_000, 30_000, 8787];

/** All of Slack's requests may come from the address of one proxy. Whoever guesses at signatures is still held back. */
const slackLimits: Partial<HttpLimits> = { openRequestsPerMinute: 6_000 };

/** How many networks are remembered that have sent requests without a token. */
const openNetworksMax = 10_000;

const waitAtMost = async (clock: Clock, ms: number, ended: Promise<void>): Promise<void> => {
  const late = Promise.withResolvers<void>();
  const stop = clock.timer(ms, late.resolve);
  await Promise.race([ended, late.promise]);
  stop();
};
