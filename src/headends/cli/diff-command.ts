// `diff`: two runs side by side.
import type { CommandContext } from './command-context.ts';
import { diffLines } from './diff-lines.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { openToRead } from './open-to-read.ts';
import type { DiffRequest } from './request.ts';
import { resolveRun } from './resolve-name.ts';

/** As diff does: 0 when they are the same, 1 when they are not. */
export const diffCommand = async (request: DiffRequest, desk: CommandContext): Promise<ExitCode> => {
  const { output } = desk;
  await using cloister = await openToRead(request.workspace, desk);
  const one = await resolveRun(cloister, request.run);
  const diff = await cloister.diff(one, await resolveRun(cloister, request.other));
  if (request.json) output.json(diff);
  else output.out.print(...diffLines(diff, request.verbose, output.out));
  return diff.same ? exitCode.completed : exitCode.config;
};
