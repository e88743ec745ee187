// `runs delete`: removes runs, and prints what is left of them.
import type { ConversationRef, DeletionReport, RunCopy, RunSelection } from '#contracts';
import { dateTime, formatBytes, plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { UsageError } from './shared/errors.ts';
import { formatConversation, openToRead, resolveConversation, resolveRun } from './shared/find-and-open.ts';
import { conversationOption, flagOption, textOption, workspaceOption } from './shared/options.ts';
import type { ArgumentSpec } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { letFinish } from './shared/let-finish.ts';
import { sanitizeAll, sanitizeLine } from './shared/sanitize-text.ts';

const runsArgument: { readonly runs: ArgumentSpec<readonly string[]> } = {
  runs: { about: 'run ids, prefixes, or `last`', form: 'list', absent: [] },
};

export const runsDelete = defineCommand({
  about: 'delete runs: their records, files and messages; what is left is a tombstone that says which run it was',
  examples: [
    'cloister runs delete 4f2a',
    'cloister runs delete 4f2a --with-later --why "asked by the customer"',
    'cloister runs delete --conversation lead/trip',
    'cloister runs delete --caller alice --compact',
    'cloister runs delete --caller alice --dry-run',
  ],
  arguments: runsArgument,
  options: {
    ...workspaceOption,
    ...conversationOption('instead, delete this conversation with all of its runs'),
    caller: textOption('<name>', 'instead, delete everything of this caller of a server'),
    why: textOption('<text>', 'a reason, kept in the tombstone'),
    withLater: flagOption('also delete what holds the same text: later turns, branches, forks, checkpoints'),
    force: flagOption('also delete runs that have not ended, and leave others that hold the same text'),
    compact: flagOption('rewrite the whole database afterwards, so that no copy is left in it, however large it is'),
    dryRun: flagOption('only print what would be deleted'),
  },
  run: async (given, context) => {
    const { runtime, output } = context;
    const { force, withLater, compact, dryRun, why, json, verbose } = given;
    await using cloister = await openToRead(given.workspace, runtime);
    const selection = await select(given, cloister, context);
    const options = { force, withLater, compact, dryRun, ...(why === null ? {} : { why }) };
    const work = letFinish(context, {
      what: 'the deletion',
      otherwise: 'what is decided then is finished by the next command',
    });
    const report = await cloister.storage.delete(selection, options);
    output.result(json, report, () => deletionLines(sanitizeAll(report), { dryRun, verbose }));
    return work.end();
  },
});

type Given = {
  readonly runs: readonly string[];
  readonly conversation: string | ConversationRef | null;
  readonly caller: string | null;
};

const select = async (
  { runs, conversation, caller }: Given,
  cloister: Awaited<ReturnType<typeof openToRead>>,
  { runtime }: CommandContext,
): Promise<RunSelection> => {
  const ways = [runs.length > 0, conversation !== null, caller !== null].filter((isGiven) => isGiven).length;
  if (ways !== 1)
    throw new UsageError(
      ways === 0 ? 'nothing to delete was named' : 'runs, --conversation and --caller cannot be combined',
      'name runs, or use --conversation <name> or --caller <name>',
    );
  if (caller !== null) return { caller };
  if (conversation !== null) {
    const named = typeof conversation === 'string' ? { name: conversation, agent: null } : conversation;
    const { agent, name } = await resolveConversation(cloister, named, false, runtime);
    return { conversation: { agent, name } };
  }
  const found: string[] = [];
  for (const name of runs) found.push(await resolveRun(cloister, name));
  return { runs: found };
};

const listedMax = 20;

/** The report must be sanitized. */
const deletionLines = (
  { tombstones, archives, conversations, left, otherFiles, space }: DeletionReport,
  { dryRun, verbose }: { readonly dryRun: boolean; readonly verbose: boolean },
): readonly string[] => {
  const [verb, be] = dryRun ? ['Would delete', 'would be'] : ['Deleted', 'was'];
  if (tombstones.length + conversations.length + archives.length === 0) return ['There is nothing to delete.'];
  const shown = verbose ? tombstones : tombstones.slice(0, listedMax);
  const more = tombstones.length - shown.length;
  return [
    `${verb} ${plural(tombstones.length, 'run')}:`,
    ...shown.map(({ run, startedAt, frames }) => {
      const when = startedAt === null ? '' : `, started ${dateTime(startedAt)}`;
      return `  ${run}${when}, ${plural(frames, 'record')}`;
    }),
    ...(more === 0 ? [] : [`  … and ${more} more: use --verbose for all`]),
    ...archives.map((file) => `The archive ${sanitizeLine(file)} ${be} removed as well.`),
    ...conversations.map((one) => `The conversation ${sanitizeLine(formatConversation(one))} ${be} removed as well.`),
    ...(left.length === 0 ? [] : ['', 'Left, although the same text is in it:', ...left.map(copyLine)]),
    ...(dryRun ? [] : [signatureLine(tombstones)]),
    ...(space === null || dryRun ? [] : spaceLines(space)),
    ...otherFiles.map(
      (file) => `${sanitizeLine(file)} may hold the same text, and is not touched. Remove it if it is not needed.`,
    ),
  ];
};

const signatureLine = ([first]: DeletionReport['tombstones']): string => {
  if (first === undefined) return '';
  return first.key === null
    ? 'The tombstones are not signed, only chained: `cloister key` makes a key for the operator.'
    : `The tombstones are signed with ${first.key}.`;
};

const spaceLines = ({ bytesBefore, bytesAfter, isFinished }: NonNullable<DeletionReport['space']>): readonly string[] =>
  isFinished
    ? [`The database has ${formatBytes(bytesAfter)} now (${formatBytes(bytesBefore)} before).`]
    : [
        'Another process is reading the workspace, or the disk is full, so the deleted records are not overwritten everywhere yet.',
        'That is done when a Cloister is opened the next time, by any command.',
      ];

const copyLine = (copy: RunCopy): string => {
  switch (copy.kind) {
    case 'turn':
      return `  ${copy.run}, a later turn of ${sanitizeLine(formatConversation(copy.conversation))}`;
    case 'fork':
      return `  ${copy.run}, which continues it`;
    case 'branch':
      return `  ${sanitizeLine(formatConversation(copy.conversation))}, a branch`;
    case 'checkpoint':
      return `  checkpoint ${copy.checkpoint}`;
  }
};
