// `agents`: lists agents.
import type { CheckReport } from '#contracts';
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { plural } from './shared/format-numbers.ts';
import type { Printer } from './shared/output.ts';
import type { AgentsRequest } from './shared/request.ts';
import { tableLines } from './shared/table.ts';
import { excerpt, sanitizeLine } from './shared/sanitize-text.ts';

/** Files that cannot be read as agents are counted on stderr; `check` says what is wrong with them. */
export const agentsCommand = async (request: AgentsRequest, { world, output }: CommandContext): Promise<ExitCode> => {
  const { paths, config } = request;
  const { ok, agents, problems } = await world.check({
    paths,
    syntaxOnly: true,
    connect: false,
    ...(config === null ? {} : { config }),
  });
  if (request.json) output.json(agents);
  else {
    output.out.print(...agentLines(agents, paths, output.out));
    if (!ok)
      output.err.print(
        `${plural(Math.max(1, problems.length), 'problem')}: see \`cloister check ${joinPaths(paths)}\``,
      );
  }
  return ok ? exitCode.completed : exitCode.config;
};

const agentLines = (
  agents: CheckReport['agents'],
  paths: readonly string[],
  { paint, columns }: Printer,
): readonly string[] => {
  if (agents.length === 0)
    return [`No agents found in ${joinPaths(paths)}.`, 'Create some with `cloister init`, or pass an .ai file.'];
  const rows = agents.map(({ name, file, description }) => [
    sanitizeLine(name),
    sanitizeLine(file),
    excerpt(description, 120),
  ]);
  const [heading = '', ...lines] = tableLines(
    [
      { title: 'agent', shrinksTo: 16 },
      { title: 'file', shrinksTo: 20 },
      { title: 'description', shrinksTo: 20 },
    ],
    rows,
    columns,
  );
  return [paint('dim', heading), ...lines];
};

const joinPaths = (paths: readonly string[]): string => sanitizeLine(paths.join(' '));
