// `dead-letters`: lists messages that nobody received.
import type { DeadLetters, MailReport } from '#contracts';
import { dateTime, plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { mailDetailLines, mailHeadLine, mailSizeDetail } from './shared/mail-lines.ts';
import { cloisterCommand } from './shared/next-commands.ts';
import { openToRead, resolveRun } from './shared/find-and-open.ts';
import { textOption, workspaceOption } from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import { sanitizeAll } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'list undeliverable messages and the reason for each',
  examples: ['cloister dead-letters', 'cloister dead-letters --run last --json'],
  options: { ...workspaceOption, run: textOption('<run>', 'only this run (default: the newest 100 runs)') },
  run: async ({ run, workspace, json, verbose }, { runtime, output }) => {
    await using cloister = await openToRead(workspace, runtime);
    const dead = await cloister.deadLetters(run === null ? {} : { run: await resolveRun(cloister, run) });
    output.result(json, dead, (printer) => deadLetterLines(sanitizeAll(dead), { verbose, workspace }, printer));
    return exitCode.completed;
  },
});

/** The letters must be sanitized. Results of agents that no one was left to receive are only counted, unless `verbose`. */
const deadLetterLines = (
  dead: DeadLetters,
  { verbose, workspace }: { readonly verbose: boolean; readonly workspace: string },
  printer: Screen,
): readonly string[] => {
  const { letters, read, more, damaged } = dead;
  const { paint, columns } = printer;
  const listed = verbose ? letters : letters.filter((message) => !isUndeliveredEnd(message));
  const ends = letters.length - listed.length;
  return [
    ...listed.flatMap((message) => [
      mailHeadLine(message, dateTime(message.deadAt ?? message.queuedAt), printer),
      ...mailDetailLines([message.id, `run ${message.run}`, ...mailSizeDetail(message)], columns).map((line) =>
        paint('dim', line),
      ),
    ]),
    ...(listed.length === 0 ? [] : ['']),
    `${listed.length === 0 ? 'No dead letters' : plural(listed.length, 'dead letter')} in ${plural(read, 'run')}.`,
    ...(ends === 0
      ? []
      : [`Also, ${plural(ends, 'agent')} ended with no one left to notify; use --verbose to list them.`]),
    ...(more ? ['Older runs were not scanned; select one with --run.'] : []),
    ...damaged.map((run) => `Run ${run} cannot be read: ${cloisterCommand(`audit ${run}`, workspace)}`),
  ];
};

const isUndeliveredEnd = ({ message_type: type, reason }: MailReport): boolean =>
  type === 'result' && reason === 'ended';
