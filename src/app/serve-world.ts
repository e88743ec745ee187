// `cloister serve`: agents from files, tokens from a file, a real port.
import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { checkTokenFile } from '#adapters/config';
import {
  findAgent,
  suggestAgent,
  Configs,
  formatProblem,
  displayPath,
  findSlackConfig,
  readSlackConfig,
} from '#app/agents';
import type { LaunchEnvironment } from '#app/agents';
import { isLoopback, tokenProblems } from '#app/serve';
import { CloisterError, omitUndefined } from '#base';
import { problemText, problemsIn } from '#base/shapes';
import { tokenNameShape } from '#contracts';
import type { Cloister, TokenEntry, TopologyCheck, Problem } from '#contracts';
import type { CliServer, ServeLine, ServeOptions, RunningServer } from '#headends/cli';
import { buildServer } from './build-server.ts';
import { lostLogNotice } from './lost-log.ts';
import { hashToken, makeToken } from './make-token.ts';
import { openConfigured } from './open-cloister.ts';
import { checkStoreWritable, storeOfCommand } from './open-store.ts';
import type { Server, ServerLine } from './server-options.ts';
import { systemClock, systemLaunchEnvironment } from './system-world.ts';

export const serveWorld: Pick<CliServer, 'serve' | 'slackManifest' | 'makeToken'> = {
  serve: async (options, log) => {
    const launch = systemLaunchEnvironment(options.config);
    const configs = new Configs(launch);
    const slack = options.slack ? await readSlackConfig(configs) : undefined;
    const cloister = await openAgents(options, configs);
    try {
      const { tokenFile } = options;
      const names = cloister.agents.map(({ name }) => name);
      const tokens = tokenFile === null ? null : readTokens(tokenFile, launch, names);
      const { host, expose, hosts, origins, clients, slots, port, clientToolMs, idempotencyHours } = options;
      const given = {
        host,
        expose,
        hosts,
        origins,
        clients,
        slots,
        ...(port === null ? {} : { port }),
        ...omitUndefined({ clientToolMs, idempotencyHours, slack }),
      };
      const server = await buildServer(
        cloister,
        {
          ...given,
          ...(tokens === null ? {} : { tokens }),
          log: (line) => log(toServeLine(line, cloister)),
        },
        { checkTopology: () => checkServedFiles(cloister, launch) },
      );
      if (!options.memory)
        await checkStoreWritable({
          workspace: options.workspace,
          ...(await storeOfCommand(options.store ?? null, configs)),
        });
      const notes =
        tokens?.every(isExpired) === true ? [`All tokens in ${tokenFile} have expired: no client can connect.`] : [];
      const lost = await lostLogNotice(cloister);
      return await startListening(server, cloister, { ...options, notes: lost === null ? notes : [lost, ...notes] });
    } catch (error) {
      await cloister.close();
      throw error;
    }
  },
  slackManifest: async ({ name, url, config }) => {
    const slack = await findSlackConfig(new Configs(systemLaunchEnvironment(config)));
    if (slack.appToken === undefined && url === null)
      throw new CloisterError(
        'options_invalid',
        'The config has no `slack.appToken`, so Slack sends events over HTTP. Say where: --url https://agents.example.com',
      );
    const { slackManifest } = await import('#core/registry');
    const { slackEventsPath } = await import('#adapters/slack');
    const requestUrl = url === null ? null : new URL(slackEventsPath, url).href;
    return slackManifest(slack, { name, requestUrl });
  },
  makeToken: async (name) => {
    const token = makeToken();
    const sha256 = hashToken(token);
    const [problem] = problemsIn(tokenNameShape, name);
    if (problem !== undefined) throw new CloisterError('options_invalid', problemText(problem, 'option', 'name'));
    return { token, sha256 };
  },
};

/** What `cloister check` finds about the files of these agents; null: some are in code. */
export const checkServedFiles = async (
  cloister: Cloister,
  launch: LaunchEnvironment,
): Promise<TopologyCheck | null> => {
  const files = cloister.agents.flatMap(({ file }) => file ?? []);
  if (files.length === 0 || files.length < cloister.agents.length) return null;
  const { checkAgents } = await import('./agents/check-agents.ts');
  const { worstCase, problems, warnings } = await checkAgents(files, { launch });
  const redact = (text: string): string => cloister.redact(text);
  return {
    worstCase,
    warnings: [...problems.map(formatProblem), ...warnings.map(({ agent, message }) => `${agent}: ${message}`)].map(
      redact,
    ),
  };
};

export const openAgents = async (
  {
    agents,
    memory,
    workspace,
    store: named = null,
    config,
    indeterminate,
  }: Pick<ServeOptions, 'agents' | 'memory' | 'workspace' | 'store' | 'config' | 'indeterminate'>,
  configs: Configs,
): Promise<Cloister> => {
  const paths: string[] = [];
  for (const agent of agents) paths.push(await resolveAgentPath(agent, configs));
  const { store } = await storeOfCommand(named, configs);
  const storage = memory ? { store: 'memory' } : { workspace, ...omitUndefined({ store }) };
  const options = {
    agents: paths,
    ...storage,
    ...(config === null ? {} : { config }),
    ...omitUndefined({ indeterminate }),
  };
  return openConfigured(options, { configs });
};

/** Resolves a name like any agent name. */
export const resolveAgentPath = async (agent: string, configs: Configs): Promise<string> => {
  if (isAbsolute(agent) || /[./\\]/u.test(agent)) return agent;
  const found = await findAgent(agent, configs);
  if (found !== null) return found;
  throw new CloisterError(
    'agent_unknown',
    `No "${agent}.ai" in this folder, in agents/, in \`agents\` of .ai-agent.json, or in the home folder. Pass a file: --agent <path>.${await suggestAgent(agent, configs)}`,
  );
};

const isExpired = ({ expiresAt = Infinity }: TokenEntry): boolean => expiresAt <= systemClock.now();

type ListenOptions = ServeOptions & { readonly notes: readonly string[] };

const startListening = async (server: Server, cloister: Cloister, options: ListenOptions): Promise<RunningServer> => {
  const listening = options.port === null ? null : await server.listen();
  const url = listening?.url ?? null;
  const { stdin: input, stdout: output } = process;
  const stdio = options.stdio ? await server.serveStdio({ input, output }) : null;
  return {
    url,
    stdio: options.stdio,
    ...omitUndefined({ slack: listening?.slack }),
    token: url === null ? null : server.token,
    agents: server.agents,
    notes: listening === null ? [] : [...exposureNotes(options.host, listening.port), ...options.notes],
    running: () => server.running,
    inputEnded: stdio?.ended ?? null,
    stop: (graceMs) => server.stop(graceMs),
    close: () => cloister.close(),
  };
};

const exposureNotes = (host: string, port: number): readonly string[] =>
  isLoopback(host)
    ? []
    : [
        `The server is reachable from other machines: it listens on ${host}, port ${port}, without TLS. Put a TLS proxy in front of it.`,
      ];

export const toServeLine = (line: ServerLine, cloister: Cloister): ServeLine => {
  if (line.type === 'request') {
    const { defect, ...request } = line;
    return { ...request, defect: defect === undefined ? null : cloister.redact(describeDefect(defect)) };
  }
  if (line.type === 'resume' || line.type === 'expire' || line.type === 'slack' || line.type === 'ready') return line;
  const { caller, agent, outcome } = line;
  const { run, status, failure, spent } = outcome;
  const { inputTokens, outputTokens, uncertain, usd, ms } = spent;
  const code = failure?.code ?? null;
  return { type: 'run', caller, agent, run, status, code, tokens: inputTokens + outputTokens, uncertain, usd, ms };
};

const describeDefect = (defect: unknown): string =>
  defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect);

// Reads tokens from a file.
/** `served`: the names of the served agents. Throws `tokens_invalid` with every problem. */
const readTokens = (given: string, launch: LaunchEnvironment, served: readonly string[]): readonly TokenEntry[] => {
  const path = resolve(launch.cwd, given);
  const file = displayPath(path, launch);
  const { entries, problems, add } = checkTokenFile(file, readTokenFile(path, file));
  if (problems.length === 0 && entries.length === 0) add(['tokens'], 'The token list is empty.');
  for (const { index, field, message } of tokenProblems(entries, served)) add(['tokens', index, field], message);
  if (problems.length > 0) throw tokensError(problems.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0)));
  return entries.filter((entry) => entry !== undefined);
};

const readTokenFile = (path: string, file: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const message = `The file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown'}.`;
    throw tokensError([{ file, line: null, key: null, message, nearest: null }]);
  }
};

const tokensError = (problems: readonly Problem[]): CloisterError =>
  new CloisterError('tokens_invalid', `\n${problems.map(formatProblem).join('\n')}\n`);
