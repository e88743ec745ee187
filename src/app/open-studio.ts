// `cloister studio`: the agents here, or none, for whoever owns the workspace.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Configs } from '#app/agents';
import type { LaunchEnvironment } from '#app/agents';
import { CloisterError, omitUndefined } from '#base';
import { studioCaller } from '#contracts';
import type { Cloister } from '#contracts';
import type { CliServer, RunningServer, ServeLine, StudioOptions } from '#headends/cli';
import { buildServer } from './build-server.ts';
import { lostLogNotice } from './lost-log.ts';
import { openConfigured } from './open-cloister.ts';
import { checkStoreWritable, storeOfCommand } from './open-store.ts';
import { checkServedFiles, resolveAgentPath, toServeLine } from './serve-world.ts';
import type { Server } from './server-options.ts';
import { systemLaunchEnvironment } from './system-world.ts';

type Log = (line: ServeLine) => void;

export const openStudio: CliServer['studio'] = async (options, log) => {
  const launch = systemLaunchEnvironment(options.config);
  if (options.agents.length > 0) {
    const configs = new Configs(launch);
    const paths: string[] = [];
    for (const agent of options.agents) paths.push(await resolveAgentPath(agent, configs));
    return startStudio(options, { paths, configs, notes: [], log });
  }
  const { files: found, notes: fileNotes } = await findAgents(launch);
  try {
    return await startStudio(options, { paths: found, notes: fileNotes, log });
  } catch (error) {
    if (found.length === 0 || !isAboutAgents(error)) throw error;
    const usable = await usableAgents(found, options);
    const notes = [...fileNotes, unusableText(found.length - usable.length, found.length, error)];
    try {
      return await startStudio(options, { paths: usable, notes, log });
    } catch (again) {
      if (!isAboutAgents(again)) throw again;
      // Each can be used, but not all of them together.
      return await startStudio(options, { paths: [], notes: [unusableText(found.length, found.length, again)], log });
    }
  }
};

/** Such problems leave the workspace as it is, to be looked at. */
const isAboutAgents = (error: unknown): error is CloisterError =>
  error instanceof CloisterError && !/^(?:store_|workspace_|address_)/u.test(error.code);

const unusableText = (count: number, all: number, { message }: CloisterError): string =>
  `${count === all ? 'The agents here' : `${count} of the ${all} agents here`} cannot be used: ${message} See \`cloister check\`, or name those that you want.`;

/** Those that can be loaded, each by itself. */
const usableAgents = async (files: readonly string[], { config }: StudioOptions): Promise<readonly string[]> => {
  const usable: string[] = [];
  for (const file of files.slice(0, triedMax))
    try {
      const options = { agents: [file], store: 'memory', ...(config === null ? {} : { config }) } as const;
      await using cloister = await openConfigured(options);
      await buildServer(cloister);
      usable.push(file);
    } catch (error) {
      if (!(error instanceof CloisterError)) throw error;
    }
  return usable;
};

const triedMax = 50;

type StudioStart = {
  readonly paths: readonly string[];
  readonly configs?: Configs;
  readonly notes: readonly string[];
  readonly log: Log;
};

const startStudio = async (
  options: StudioOptions,
  { paths, configs, notes, log }: StudioStart,
): Promise<RunningServer> => {
  const { workspace, config } = options;
  const launched = configs ?? new Configs(systemLaunchEnvironment(config));
  const place = { workspace, ...(await storeOfCommand(options.store ?? null, launched)) };
  const cloister = await openConfigured(
    { agents: [...paths], workspace, ...omitUndefined({ store: place.store }), ...(config === null ? {} : { config }) },
    configs === undefined ? {} : { configs },
  );
  try {
    if (paths.length > 0) await checkStoreWritable(place);
    const lost = await lostLogNotice(cloister);
    const { server, url } = await listen(cloister, options, log);
    return {
      url,
      stdio: false,
      token: server.token,
      agents: server.agents,
      notes: lost === null ? notes : [lost, ...notes],
      running: () => server.running,
      inputEnded: null,
      stop: (graceMs) => server.stop(graceMs),
      close: () => cloister.close(),
    };
  } catch (error) {
    await cloister.close();
    throw error;
  }
};

const [usualPort, portsTried] = [8788, 20];

/** On the given port, or on the first one that is free. */
const listen = async (
  cloister: Cloister,
  { port, config }: StudioOptions,
  log: Log,
): Promise<{ readonly server: Server; readonly url: string }> => {
  for (let nth = 0; ; nth++) {
    const tried = port ?? (nth < portsTried ? usualPort + nth : 0);
    const options = { port: tried, log: (line: Parameters<typeof toServeLine>[0]) => log(toServeLine(line, cloister)) };
    const server = await buildServer(cloister, options, {
      operatorName: studioCaller,
      isStudio: true,
      checkTopology: () => checkServedFiles(cloister, systemLaunchEnvironment(config)),
    });
    try {
      return { server, url: (await server.listen()).url };
    } catch (error) {
      const isTaken = error instanceof CloisterError && error.code === 'address_taken';
      if (!isTaken || port !== null || tried === 0) throw error;
    }
  }
};

type FoundAgents = { readonly files: readonly string[]; readonly notes: readonly string[] };

/** The files of the agents that can be called by their names. */
const findAgents = async (launch: LaunchEnvironment): Promise<FoundAgents> => {
  const { checkAgents } = await import('./agents/check-agents.ts');
  const { agents, problems } = await checkAgents([], { launch, syntaxOnly: true });
  const files = agents
    .filter(({ byName = true }) => byName)
    .map(({ file }) => resolve(launch.cwd, file))
    .filter((file) => existsSync(file));
  const broken = new Set(problems.map(({ file }) => file));
  const notes =
    broken.size === 0 ? [] : [`Left out, because of problems: ${[...broken].join(', ')}. See \`cloister check\`.`];
  return { files, notes };
};
