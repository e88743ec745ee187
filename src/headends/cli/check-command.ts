// `check`: validates agent files and shows their worst case, before a token is spent.
import { checkLines } from './check-lines.ts';
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import type { CheckRequest } from './shared/request.ts';

/** Warnings alone do not fail. */
export const checkCommand = async (request: CheckRequest, { world, output }: CommandContext): Promise<ExitCode> => {
  const { paths, syntaxOnly, connect, config } = request;
  const report = await world.check({ paths, syntaxOnly, connect, ...(config === null ? {} : { config }) });
  if (request.json) output.json(report);
  else output.out.print(...checkLines(report, !syntaxOnly, output.out));
  return report.ok ? exitCode.completed : exitCode.config;
};
