// `cloister verify`: non-interference of agents from files, by running them twice.
import { fileURLToPath } from 'node:url';
import type { CliWorld } from '#headends/cli';
import { checkIsolation } from '#testkit';
import type { IsolationReport } from '#testkit';
import type { LaunchEnvironment } from './agents/launch-environment.ts';
import { findSubject, isSubjectFile, loadSubject } from './verify-subject.ts';
import { systemPlace } from './system-world.ts';
import { packageFolder } from './package-folder.ts';

const examples = fileURLToPath(new URL('examples', packageFolder));

type VerifyOptions = Parameters<CliWorld['verify']>[0];

export const verifyAgent = async (options: VerifyOptions): Promise<IsolationReport> => {
  const { agent, agents, pairs, seed, config, signal } = options;
  const place: LaunchEnvironment = { ...systemPlace(), ...(config === undefined ? {} : { config }) };
  const asked = await askedFor(options, place);
  const subject = await loadSubject(asked, { ...place, cwd: asked.cwd });
  const given = [
    ...agents.flatMap((path) => ['--agents', path]),
    ...(config === undefined ? [] : ['--config', config]),
  ];
  return checkIsolation(subject, {
    pairs,
    ...(seed === undefined ? {} : { seed }),
    signal,
    progress: (done) => options.progress(done),
    again: (from, count) => `cloister verify ${shellWords([agent, ...given])} --seed ${from} --pairs ${count}`,
  });
};

/** Among the agents that were given by name, or a file besides them; without any, whatever has that name. */
const askedFor = async ({ agent, agents }: VerifyOptions, place: LaunchEnvironment) => {
  if (agents.length > 0 && !agent.endsWith('.ai') && !isSubjectFile(agent, place))
    return { agents, agent, cwd: place.cwd };
  const found = await findSubject(agent, place, examples);
  return { ...found, agents: [...found.agents, ...agents] };
};

/** As a shell takes them. */
const shellWords = (all: readonly string[]): string =>
  all.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
