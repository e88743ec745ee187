// `agents`: lists agents.
import type { CheckReport } from '#contracts';
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { configOption, createAgentsHint, pathsArgument } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { excerpt, sanitizeLine } from './shared/sanitize-text.ts';
import { tableLines } from './shared/table.ts';

/** Files that cannot be read as agents are counted on stderr; `check` says what is wrong with them. */
export default defineCommand({
  about: 'list agents: those here, in the folders of the config and in the home folder, or those in the given paths',
  examples: ['cloister agents', 'cloister agents team/'],
  arguments: {
    paths: { ...pathsArgument.paths, absent: [], absentAbout: 'here and below, and all that can be found by name' },
  },
  options: configOption,
  run: async ({ paths, config, json }, { runtime, output }) => {
    const { ok, agents, problems, warnings } = await runtime.check({ paths, syntaxOnly: true, connect: false, config });
    output.result(json, agents, (printer) => agentLines(agents, paths, printer));
    const others = warnings.filter(({ code }) => code === 'agents-not-loaded');
    if (!json) for (const { message } of others) output.err.print(sanitizeLine(message));
    const found = plural(Math.max(1, problems.length), 'problem');
    if (!ok && !json) output.err.print(`${found}: see \`cloister check ${joinPaths(paths)}\``);
    return ok ? exitCode.completed : exitCode.config;
  },
});

const agentLines = (agents: CheckReport['agents'], paths: readonly string[], screen: Screen): readonly string[] => {
  if (agents.length === 0)
    return [
      paths.length === 0
        ? 'No agents found: none in this folder, in the folders of the config or in the home folder.'
        : `No agents found in ${joinPaths(paths)}.`,
      createAgentsHint,
    ];
  return tableLines(
    [
      { title: 'agent', shrinksTo: 16, value: ({ name }) => sanitizeLine(name) },
      { title: 'file', shrinksTo: 20, value: ({ file }) => sanitizeLine(file) },
      ...(agents.some(({ from }) => from !== undefined) ? [{ title: 'from', value: placeOf }] : []),
      { title: 'description', shrinksTo: 20, value: ({ description }) => excerpt(description, 120) },
    ],
    agents,
    screen,
  );
};

const joinPaths = (paths: readonly string[]): string => (paths.length === 0 ? '.' : sanitizeLine(paths.join(' ')));

/** An agent in some other folder, or one whose name another agent has too, is run by its path. */
const placeOf = ({ from = 'here', byName = true }: CheckReport['agents'][number]): string =>
  byName ? places[from] : `${places[from]}, by path only`;

const places = { here: 'this folder', config: 'config', home: 'home folder' };
