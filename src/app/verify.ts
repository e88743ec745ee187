// `cloister verify`: tests non-interference of agents from files by running them twice.
import { fileURLToPath } from 'node:url';
import { isAgentPath } from '#base';
import type { CliRuntime } from '#headends/cli';
import { checkIsolation } from '#testkit';
import type { IsolationReport } from '#testkit';
import { Configs } from '#app/agents';
import { findSubject, isSubjectFile, loadSubject } from './verify-subject.ts';
import { systemLaunchEnvironment } from './system-world.ts';
import { packageFolder } from './package-folder.ts';

const examples = fileURLToPath(new URL('examples', packageFolder));

type VerifyOptions = Parameters<CliRuntime['verify']>[0];

export const verifyAgent = async (options: VerifyOptions): Promise<IsolationReport> => {
  const { agent, agents, pairs, seed = null, config = null, signal } = options;
  const configs = new Configs(systemLaunchEnvironment(config));
  const { launch } = configs;
  const target = await findTarget(options, configs);
  const isHere = target.cwd === launch.cwd;
  const subject = await loadSubject(target, isHere ? configs : new Configs({ ...launch, cwd: target.cwd }));
  const given = [...agents.flatMap((path) => ['--agents', path]), ...(config === null ? [] : ['--config', config])];
  return checkIsolation(subject, {
    pairs,
    ...(seed === null ? {} : { seed }),
    signal,
    progress: (done) => options.progress(done),
    again: (from, count) => `npx cloister verify ${quoteForShell([agent, ...given])} --seed ${from} --pairs ${count}`,
  });
};

/** Finds the agent by name among the given agents, or as a file besides them; without given agents, any subject of that name. */
const findTarget = async ({ agent, agents }: VerifyOptions, configs: Configs) => {
  if (agents.length > 0 && !isAgentPath(agent) && !isSubjectFile(agent, configs.launch))
    return { agents, agent, cwd: configs.launch.cwd };
  const found = await findSubject(agent, configs, examples);
  return { ...found, agents: [...found.agents, ...agents] };
};

const quoteForShell = (all: readonly string[]): string =>
  all.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
