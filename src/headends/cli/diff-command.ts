// `diff`: compares two runs.
import type { CommandContext } from './command-context.ts';
import { diffLines } from './diff-lines.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { openToRead } from './open-to-read.ts';
import type { DiffRequest } from './request.ts';
import { resolveRun } from './resolve-name.ts';

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
