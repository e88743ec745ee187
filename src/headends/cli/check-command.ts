// `check`: what is wrong with agent files, and what they add up to, before a token is spent.
import { checkLines } from './check-lines.ts';
import type { CommandContext } from './command-context.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import type { CheckRequest } from './request.ts';

/** Warnings alone are no failure. */
export const checkCommand = async (request: CheckRequest, { world, output }: CommandContext): Promise<ExitCode> => {
  const { paths, syntaxOnly, connect, config } = request;
  const report = await world.check({ paths, syntaxOnly, connect, ...(config === null ? {} : { config }) });
  if (request.json) output.json(report);
  else output.out.print(...checkLines(report, !syntaxOnly, output.out));
  return report.ok ? exitCode.completed : exitCode.config;
};
