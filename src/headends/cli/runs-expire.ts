// `runs expire`: deletes the runs that are no longer kept.
import { omitUndefined } from '#base';
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import {
  configOption,
  decimal,
  flagOption,
  textOption,
  valueOption,
  wholeNumber,
  workspaceOption,
} from './shared/options.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export const runsExpire = defineCommand({
  about:
    'delete runs that are no longer kept, by these limits or by `keep` of the config; the turns of a conversation go together',
  examples: [
    'cloister runs expire --dry-run',
    'cloister runs expire --days 90',
    'cloister runs expire --keep 1000 --agent lead --dry-run',
  ],
  options: {
    ...workspaceOption,
    ...configOption,
    days: valueOption('<n>', 'keep runs for so many days after their end', decimal),
    keep: valueOption('<n>', 'keep so many runs', wholeNumber),
    bytes: valueOption('<n>', 'keep so many bytes of records', wholeNumber),
    agent: textOption('<name>', 'only runs of this agent go and count'),
    dryRun: flagOption('only print what would be deleted'),
  },
  run: async ({ days, keep: runs, bytes, agent, dryRun, workspace, config, json }, context) => {
    const { runtime, output, interrupts } = context;
    const limits = omitUndefined({ days: days ?? undefined, runs: runs ?? undefined, bytes: bytes ?? undefined });
    if (agent !== null && Object.keys(limits).length === 0)
      throw new UsageError('nothing says how long runs of this agent are kept', 'use --days, --keep or --bytes');
    await using cloister = await runtime.open({ workspace, agents: [], config });
    const { storage } = cloister;
    const rules =
      Object.keys(limits).length === 0 ? storage.keep : agent === null ? limits : { agents: { [agent]: limits } };
    if (rules === null)
      throw new UsageError(
        'nothing says how long runs are kept',
        'use --days, --keep or --bytes, or set `keep` in .ai-agent.json',
      );
    const interrupt = new AbortController();
    interrupts.onFirst(() => {
      output.err.print(
        'Stopping after the runs that are being deleted; Ctrl-C again stops at once: the next command finishes them.',
      );
      interrupt.abort();
    });
    const gone = await storage.expire(rules, { dryRun, signal: interrupt.signal });
    output.result(json, gone, () => [
      `${dryRun ? 'Would delete' : 'Deleted'} ${plural(gone.length, 'run')}.`,
      ...gone.map(({ run, why }) => `  ${run}  ${sanitizeLine(why)}`),
      ...(interrupt.signal.aborted ? ['Interrupted: the others stay until the next time.'] : []),
    ]);
    return interrupt.signal.aborted ? exitCode.cancelled : exitCode.completed;
  },
});
