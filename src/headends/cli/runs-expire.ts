// `runs expire`: deletes the runs that are no longer kept.
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import { openToRead } from './shared/find-and-open.ts';
import { flagOption, textOption, valueOption, wholeNumber, workspaceOption } from './shared/options.ts';

export const runsExpire = defineCommand({
  about: 'delete runs that are no longer kept, oldest first; the turns of a conversation go together',
  examples: ['cloister runs expire --days 90', 'cloister runs expire --keep 1000 --agent lead --dry-run'],
  options: {
    ...workspaceOption,
    days: valueOption('<n>', 'keep runs for so many days after their end', wholeNumber),
    keep: valueOption('<n>', 'keep so many runs', wholeNumber),
    bytes: valueOption('<n>', 'keep so many bytes of records', wholeNumber),
    agent: textOption('<name>', 'only runs of this agent go and count'),
    dryRun: flagOption('only print what would be deleted'),
  },
  run: async ({ days, keep: runs, bytes, agent, dryRun, workspace, json }, { runtime, output }) => {
    if (days === null && runs === null && bytes === null)
      throw new UsageError('nothing says how long runs are kept', 'use --days, --keep or --bytes');
    await using cloister = await openToRead(workspace, runtime);
    const rules = {
      ...(days === null ? {} : { days }),
      ...(runs === null ? {} : { runs }),
      ...(bytes === null ? {} : { bytes }),
      ...(agent === null ? {} : { agent }),
    };
    const gone = await cloister.storage.expire(rules, { dryRun });
    output.result(json, gone, () => [
      `${dryRun ? 'Would delete' : 'Deleted'} ${plural(gone.length, 'run')}.`,
      ...gone.map(({ run }) => `  ${run}`),
    ]);
    return exitCode.completed;
  },
});
