// `checkpoints`: saved points in runs that a user can return to.
import type { Checkpoint, CheckpointDiff, Cloister, ConversationRef, RunSession } from '#contracts';
import { count, dateTime, plural } from '#headends/run-view';
import { defineCommand, defineGroup } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { followRun } from './shared/follow-run.ts';
import type { RunOutputFlags } from './shared/progress.ts';
import { cloisterCommand, shellWord } from './shared/next-commands.ts';
import {
  listKnownConversations,
  openForRun,
  openToRead,
  findCheckpointByName,
  formatConversation,
  resolveRun,
} from './shared/find-and-open.ts';
import {
  agentsOptions,
  runOutputOptions,
  parseAgent,
  requiredArgument,
  runArgument,
  textOption,
  workspaceOption,
} from './shared/options.ts';
import type { Screen } from './shared/output.ts';
import type { ResolvedCheckpoint } from './shared/find-and-open.ts';
import { sanitizeAll, sanitizeLine, truncateColumns, wrapText } from './shared/sanitize-text.ts';
import { tableLines } from './shared/table.ts';
import type { Column } from './shared/table.ts';
import { rowText } from './shared/tree.ts';

const idArgument = { id: requiredArgument('a checkpoint id or prefix, its file, or `last`') };
const filterOptions = { ...workspaceOption, agent: textOption('<name>', 'only checkpoints of this agent') };

const list = defineCommand({
  about: 'list checkpoints, newest first',
  examples: ['cloister checkpoints list'],
  options: filterOptions,
  run: async (given, { runtime, output }) => {
    const { agent, json } = given;
    const asked = agent === null ? {} : { agent };
    const checkpoints = await listKnownConversations(given, runtime, (cloister) => cloister.checkpoints.list(asked));
    output.result(json, checkpoints, (printer) => checkpointsLines(sanitizeAll(checkpoints), agent, printer));
    return exitCode.completed;
  },
});

/** Has no --agent: a run has its own agent. */
const create = defineCommand({
  about: 'save the current state of a running or ended run',
  examples: ['cloister checkpoints create last --label "before the trip"'],
  arguments: runArgument,
  options: { ...workspaceOption, label: textOption('<text>', 'description of the checkpoint') },
  run: async ({ label, workspace, json, ...given }, { runtime, output }) => {
    await using cloister = await openToRead(workspace, runtime);
    const run = await resolveRun(cloister, given.run);
    const created = await cloister.checkpoints.create(run, label === null ? {} : { label });
    const { id, frames } = sanitizeAll(created);
    output.result(json, created, () => [
      `checkpoint ${id}: run ${run}, ${plural(frames, 'record')}. To return to it, or to branch from it:`,
      `  ${cloisterCommand(`checkpoints restore ${id}`, workspace)}`,
      `  ${cloisterCommand(`checkpoints branch ${id}`, workspace)}`,
    ]);
    return exitCode.completed;
  },
});

/** Exits like diff(1): 0 if they are identical, 1 if they differ. */
const compare = defineCommand({
  about: 'compare two checkpoints; exit 1 if they differ',
  examples: ['cloister checkpoints diff 4f2a last'],
  arguments: { ...idArgument, other: requiredArgument('the other checkpoint') },
  options: filterOptions,
  run: async ({ id, other, agent, workspace, json }, context) => {
    const { runtime, output } = context;
    await using cloister = await openToRead(workspace, runtime);
    const one = await findCheckpointByName(cloister, { id, agent }, context);
    const against = await findCheckpointByName(cloister, { id: other, agent }, context);
    const found = await cloister.checkpoints.diff(one.ref, against.ref);
    output.result(json, found, (printer) => checkpointDiffLines(sanitizeAll(found), printer));
    return isIdentical(found) ? exitCode.completed : exitCode.config;
  },
});

const restore = defineCommand({
  about: 'reset the conversation to a checkpoint and continue unfinished work',
  examples: ['cloister checkpoints restore 4f2a'],
  arguments: idArgument,
  options: { ...filterOptions, ...agentsOptions, ...runOutputOptions },
  run: (given, context) =>
    continueFromCheckpoint({ ...given, verb: 'continues' }, context, async ({ checkpoints }, { ref, checkpoint }) => ({
      session: await checkpoints.restore(ref),
      conversation: checkpoint?.conversation ?? null,
    })),
});

const branch = defineCommand({
  about: 'continue from a checkpoint in a new conversation; the original stays unchanged',
  examples: ['cloister checkpoints branch 4f2a --name other-way', 'cloister checkpoints branch last --to scout.ai'],
  arguments: idArgument,
  options: {
    ...filterOptions,
    name: textOption('<name>', 'name of the new conversation'),
    to: textOption('<agent>', 'the agent that continues it: a name or a file'),
    ...agentsOptions,
    ...runOutputOptions,
  },
  run: (given, context) => {
    const { name } = given;
    const to = given.to === null ? null : parseAgent(given.to, given.agents);
    const options = { ...(name === null ? {} : { name }), ...(to === null ? {} : { agent: to.agent }) };
    return continueFromCheckpoint(
      { ...given, verb: 'starts', agents: to?.agents ?? given.agents },
      context,
      ({ checkpoints }, { ref }) => checkpoints.branch(ref, options),
    );
  },
});

type CheckpointRequest = RunOutputFlags & {
  readonly id: string;
  readonly agent: string | null;
  readonly agents: readonly string[];
  readonly config: string | null;
  readonly workspace: string;
  /** What the conversation does from the checkpoint on. */
  readonly verb: 'continues' | 'starts';
};

type Continuation = { readonly session: RunSession | null; readonly conversation: ConversationRef | null };

/** If a run continues from the checkpoint, it is shown like any other. */
const continueFromCheckpoint = async (
  request: CheckpointRequest,
  context: CommandContext,
  start: (cloister: Cloister, from: ResolvedCheckpoint) => Promise<Continuation>,
): Promise<ExitCode> => {
  const { runtime, output } = context;
  const { workspace } = request;
  const found = await findCheckpoint(request, context);
  const { ref, checkpoint } = found;
  let conversation: ConversationRef | null = checkpoint?.conversation ?? null;
  const also = () => ({ checkpoint: checkpoint?.id ?? ref, conversation });
  return followRun(
    {
      request,
      open: () => (checkpoint === null ? openToRead(workspace, runtime) : openForRun(checkpoint.run, request, runtime)),
      begin: async (cloister) => {
        const begun = await start(cloister, found);
        conversation = begun.conversation;
        return begun.session;
      },
      onNothingToRun: () => {
        if (request.jsonl) output.jsonLine({ ...also(), run: null });
        else output.result(request.json, { ...also(), run: null }, () => nothingToRunLines(request, also()));
      },
      extraJson: also,
      nextCommands: (run) => (checkpoint === null ? [] : [`diff ${checkpoint.run} ${run}`]),
    },
    context,
  );
};

/** Runs before any agent is loaded: a wrong checkpoint needs none. */
const findCheckpoint = async (request: CheckpointRequest, context: CommandContext): Promise<ResolvedCheckpoint> => {
  await using cloister = await openToRead(request.workspace, context.runtime);
  return await findCheckpointByName(cloister, request, context);
};

/** Nothing was in flight at the checkpoint: only the conversation was reset or branched. */
const nothingToRunLines = (
  { verb, workspace }: CheckpointRequest,
  { checkpoint, conversation }: { readonly checkpoint: string; readonly conversation: ConversationRef | null },
): readonly string[] => {
  const id = sanitizeLine(checkpoint);
  if (conversation === null) return [`Nothing to continue: the run had already ended at checkpoint ${id}.`];
  const chat = `chat ${shellWord(conversation.agent)} --conversation ${shellWord(conversation.name)}`;
  return [
    `${shellWord(formatConversation(conversation))} ${verb} from checkpoint ${id}:`,
    `  ${cloisterCommand(chat, workspace)}`,
  ];
};

const checkpointColumns: readonly Column<Checkpoint>[] = [
  { title: 'checkpoint', value: ({ id }) => id },
  { title: 'agent', shrinksTo: 8, value: ({ agent }) => rowText(agent) },
  { title: 'taken', value: ({ at }) => dateTime(at) },
  { title: 'trigger', dropOrder: 3, value: ({ why }) => (why === 'asked' ? 'manual' : why) },
  { title: 'run', dropOrder: 2, value: ({ run }) => run },
  { title: 'records', align: 'right', dropOrder: 1, value: ({ frames }) => count(frames) },
  {
    title: 'conversation',
    shrinksTo: 8,
    dropOrder: 4,
    value: ({ conversation }) => (conversation === null ? '' : rowText(formatConversation(conversation))),
  },
  { title: 'label', shrinksTo: 8, value: ({ label }) => rowText(label) },
];

/** The checkpoints must be sanitized. */
const checkpointsLines = (
  checkpoints: readonly Checkpoint[],
  agent: string | null,
  screen: Screen,
): readonly string[] => {
  if (checkpoints.length === 0)
    return [
      `No checkpoints${agent === null ? '' : ` of ${sanitizeLine(agent)}`} yet.`,
      'Create one with `cloister checkpoints create last`.',
    ];
  return tableLines(checkpointColumns, checkpoints, screen);
};

const isIdentical = ({ cells, files, tokens, crossings }: CheckpointDiff): boolean =>
  [cells, files].every((sides) => sides.added.length + sides.removed.length + sides.changed.length === 0) &&
  [tokens, crossings].every(([one, other]) => one === other);

/** The diff must be sanitized. */
const checkpointDiffLines = (diff: CheckpointDiff, screen: Screen): readonly string[] => {
  const { paint, columns } = screen;
  const { one, other, cells, files, tokens, crossings } = diff;
  return [
    paint('red', truncateColumns(`− ${describeCheckpoint(one)}`, columns)),
    paint('green', truncateColumns(`+ ${describeCheckpoint(other)}`, columns)),
    ...(isIdentical(diff) ? [paint('green', 'identical')] : []),
    ...pairLine('tokens', tokens),
    ...pairLine('crossings', crossings),
    ...namesLines('cell', cells, screen),
    ...cells.changed.flatMap((cell) => changedLines(cell, screen)),
    ...namesLines('file', files, screen),
    ...files.changed.flatMap((file) => wrapText('≠ file ', file, columns)),
  ];
};

const describeCheckpoint = ({ id, agent, run, frames, at }: Checkpoint): string =>
  `${id}  ${dateTime(at)}, ${rowText(agent)}, run ${run}, ${plural(frames, 'record')}`;

const pairLine = (title: string, [one, other]: readonly [number, number]): readonly string[] =>
  one === other ? [] : [`${title} ${count(one)} → ${count(other)}`];

const namesLines = (
  what: string,
  { added, removed }: { readonly added: readonly string[]; readonly removed: readonly string[] },
  { paint, columns }: Screen,
): readonly string[] => [
  ...removed.flatMap((name) => wrapText(`− ${what} `, name, columns)).map((line) => paint('red', line)),
  ...added.flatMap((name) => wrapText(`+ ${what} `, name, columns)).map((line) => paint('green', line)),
];

const changedLines = (
  { cell, agent, windowBytes, steps, status }: CheckpointDiff['cells']['changed'][number],
  { paint, columns }: Screen,
): readonly string[] => {
  const words = [
    ...pairLine('window bytes', windowBytes),
    ...pairLine('steps', steps),
    ...(status[0] === status[1] ? [] : [`status ${status[0]} → ${status[1]}`]),
  ];
  const named = cell.startsWith(agent) ? cell : `${cell} ${agent}`;
  return [
    paint('bold', truncateColumns(`≠ cell ${sanitizeLine(named)}`, columns)),
    ...words.flatMap((one) => wrapText('    ', one, columns)),
  ];
};

export default defineGroup({
  about: 'save the state of runs, and restore it or branch from it',
  examples: [
    'cloister checkpoints create last --label "before the trip"',
    'cloister checkpoints list --agent lead',
    'cloister checkpoints branch last --name other-way',
  ],
  commands: { list, create, diff: compare, restore, branch },
});
