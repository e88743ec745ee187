// What the command line serves with: agents from files, tokens from a file, a real port.
import { isAbsolute } from 'node:path';
import { checkWorkspaceWritable } from '#adapters/stores';
import type { CliWorld, ServeLine, ServeOptions, RunningServer } from '#headends/cli';
import { CloisterError } from '#base';
import type { Cloister } from '#contracts';
import { findAgent } from './agents/find-agent.ts';
import type { LaunchEnvironment } from './agents/launch-environment.ts';
import { openCloister } from './open-cloister.ts';
import { buildServer } from './open-server.ts';
import { readTokens } from './read-tokens.ts';
import { isTokenName } from './serve/check-server-setup.ts';
import { isLoopback } from './serve/host-names.ts';
import { hashToken, makeToken } from './serve/token-registry.ts';
import type { TokenEntry } from './serve/token-registry.ts';
import type { Server, ServerLine } from './server-options.ts';
import { systemClock, systemPlace } from './system-world.ts';

export const createServeWorld: Pick<CliWorld, 'serve' | 'makeToken'> = {
  serve: async (options, log) => {
    const place: LaunchEnvironment = {
      ...systemPlace(),
      ...(options.config === null ? {} : { config: options.config }),
    };
    const cloister = await openAgents(options, place);
    try {
      const { tokenFile } = options;
      const names = cloister.agents.map(({ name }) => name);
      const tokens = tokenFile === null ? null : await readTokens(tokenFile, place, names);
      const { host, expose, hosts, origins, clients, places, port } = options;
      const given = { host, expose, hosts, origins, clients, places, ...(port === null ? {} : { port }) };
      const server = await buildServer(cloister, {
        ...given,
        ...(tokens === null ? {} : { tokens }),
        log: (line) => log(lineOf(line, cloister)),
      });
      if (!options.memory) await checkWorkspaceWritable(options.workspace);
      const notes = tokens?.every(isPast) === true ? [`All tokens of ${tokenFile} have expired: nobody can ask.`] : [];
      return await started(server, cloister, { ...options, notes });
    } catch (error) {
      await cloister.close();
      throw error;
    }
  },
  makeToken: async (name) => {
    const token = makeToken();
    const sha256 = hashToken(token);
    if (!isTokenName(name))
      throw new CloisterError('options_invalid', 'name: letters, digits, dots, dashes; at most 40.');
    return { token, sha256 };
  },
};

const openAgents = async (
  { agents, memory, workspace, config }: ServeOptions,
  place: LaunchEnvironment,
): Promise<Cloister> => {
  const paths = await Promise.all(agents.map((agent) => pathOf(agent, place)));
  const kept = memory ? ({ store: 'memory' } as const) : { workspace };
  return openCloister({ agents: paths, ...kept, ...(config === null ? {} : { config }) });
};

/** A name is looked for like that of any agent. */
const pathOf = async (agent: string, place: LaunchEnvironment): Promise<string> => {
  if (isAbsolute(agent) || /[./\\]/u.test(agent)) return agent;
  const found = await findAgent(agent, place);
  if (found !== null) return found;
  throw new CloisterError(
    'agent_unknown',
    `There is no "${agent}.ai" here, in \`agents\` of .ai-agent.json, or in the home folder. Name a file: --agent <path>.`,
  );
};

const isPast = ({ expiresAt = Infinity }: TokenEntry): boolean => expiresAt <= systemClock.now();

type Starting = ServeOptions & { readonly notes: readonly string[] };

const started = async (server: Server, cloister: Cloister, options: Starting): Promise<RunningServer> => {
  const listening = options.port === null ? null : await server.listen();
  const url = listening?.url ?? null;
  const { stdin: input, stdout: output } = process;
  const stdio = options.stdio ? await server.serveStdio({ input, output }) : null;
  return {
    url,
    stdio: options.stdio,
    token: url === null ? null : server.token,
    agents: server.agents,
    notes: listening === null ? [] : [...exposed(options.host, listening.port), ...options.notes],
    running: () => server.running,
    inputEnded: stdio?.ended ?? null,
    stop: (graceMs) => server.stop(graceMs),
    close: () => cloister.close(),
  };
};

const exposed = (host: string, port: number): readonly string[] =>
  isLoopback(host)
    ? []
    : [`Other machines can reach it: it listens on ${host}, port ${port}, without TLS. Put a proxy with TLS in front.`];

const lineOf = (line: ServerLine, cloister: Cloister): ServeLine => {
  if (line.type === 'request') {
    const { defect, ...request } = line;
    return { ...request, defect: defect === undefined ? null : cloister.redact(wordsOf(defect)) };
  }
  const { caller, agent, outcome } = line;
  const { run, status, failure, spent } = outcome;
  const { inputTokens, outputTokens, uncertain, usd, ms } = spent;
  const code = failure?.code ?? null;
  return { type: 'run', caller, agent, run, status, code, tokens: inputTokens + outputTokens, uncertain, usd, ms };
};

const wordsOf = (defect: unknown): string =>
  defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect);
