// `diff`: compares two runs.
import type { CommandContext } from './shared/command-context.ts';
import { diffLines } from './diff-lines.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { openToRead } from './shared/open-run.ts';
import type { DiffRequest } from './shared/request.ts';
import { resolveRun } from './shared/resolve-name.ts';

/** Exits like diff(1): 0 if they are identical, 1 if they differ. */
export const diffCommand = async (request: DiffRequest, context: CommandContext): Promise<ExitCode> => {
  const { output } = context;
  await using cloister = await openToRead(request.workspace, context);
  const one = await resolveRun(cloister, request.run);
  const diff = await cloister.diff(one, await resolveRun(cloister, request.other));
  if (request.json) output.json(diff);
  else output.out.print(...diffLines(diff, request.verbose, output.out));
  return diff.same ? exitCode.completed : exitCode.config;
};
