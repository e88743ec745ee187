// `resume`: continues an interrupted run.
import { CloisterError } from '#base';
import type { RunSummary } from '#contracts';
import { dateTime } from '#headends/run-view';
import type { CliRuntime } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import { followRun } from './shared/follow-run.ts';
import { cloisterCommand } from './shared/next-commands.ts';
import { findNamedRun, openForRun, openToRead } from './shared/find-and-open.ts';
import { agentsOptions, runOutputOptions, flagOption, runArgument, workspaceOption } from './shared/options.ts';

export default defineCommand({
  about: 'continue an interrupted run',
  examples: ['cloister resume last', 'cloister resume 4f2a --agents ./agents'],
  arguments: runArgument,
  options: {
    takeOver: flagOption('take the run over from a dead process on another machine'),
    ...agentsOptions,
    ...workspaceOption,
    ...runOutputOptions,
  },
  run: async (given, context) => {
    const { runtime } = context;
    const { takeOver, workspace } = given;
    const found = await findNamedRun(given, runtime);
    if (found.state === 'damaged') await sayWhatIsMissing(found, workspace, runtime);
    checkInterrupted(found, { takeOver, workspace });
    return followRun(
      {
        request: given,
        open: () => openForRun(found.run, given, runtime),
        begin: (cloister) => cloister.resume(found.run, { takeOver }),
      },
      context,
    );
  },
});

/** Throws `store_damaged`, naming the records. Writes nothing. */
const sayWhatIsMissing = async ({ run }: RunSummary, workspace: string, runtime: CliRuntime): Promise<void> => {
  await using cloister = await openToRead(workspace, runtime);
  await cloister.show(run);
};

/** Checked before agents are loaded: problems in agent files do not matter for a run that cannot be resumed. */
const checkInterrupted = (
  found: RunSummary,
  { takeOver, workspace }: { readonly takeOver: boolean; readonly workspace: string },
): void => {
  const { run, state, status, endedAt, owner, elsewhere = false } = found;
  if (state === 'ended')
    throw new CloisterError(
      'run_ended',
      `${run}: ${status ?? 'over'}${endedAt === null ? '' : `, ${dateTime(endedAt)}`}.`,
    );
  if (state !== 'running' || (elsewhere && takeOver)) return;
  const instead = elsewhere
    ? ` If that process is dead: ${cloisterCommand(`resume ${run} --take-over`, workspace)}`
    : '';
  throw new CloisterError('run_owned', `Run ${run} is owned by ${owner ?? 'a live process'}.${instead}`);
};
