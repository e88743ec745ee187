// `checkpoints`: saved points in runs that a user can return to.
import type { ConversationRef } from '#contracts';
import { checkpointDiffLines, checkpointsLines, isIdentical } from './checkpoint-lines.ts';
import { formatConversation, findCheckpointByName, resolveRun } from './shared/resolve-name.ts';
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { plural } from './shared/format-numbers.ts';
import { followRun } from './shared/follow-run.ts';
import { listKnownConversations, openForRun, openToRead } from './shared/open-run.ts';
import { cloisterCommand, shellWord } from './shared/next-commands.ts';
import type { CheckpointRunRequest, CheckpointsRequest } from './shared/request.ts';
import type { ResolvedCheckpoint } from './shared/resolve-name.ts';
import { sanitizeAll, sanitizeLine } from './shared/sanitize-text.ts';

type RequestTo<A extends CheckpointsRequest['action']> = Extract<CheckpointsRequest, { readonly action: A }>;

export const checkpointsCommand = (request: CheckpointsRequest, context: CommandContext): Promise<ExitCode> => {
  switch (request.action) {
    case 'list':
      return listCheckpoints(request, context);
    case 'create':
      return createCheckpoint(request, context);
    case 'diff':
      return diffCheckpoints(request, context);
    case 'restore':
    case 'branch':
      return continueFromCheckpoint(request, context);
  }
};

const listCheckpoints = async (request: RequestTo<'list'>, context: CommandContext): Promise<ExitCode> => {
  const { agent, json } = request;
  const { output } = context;
  const asked = agent === null ? {} : { agent };
  const checkpoints = await listKnownConversations(request, context, (cloister) => cloister.checkpoints.list(asked));
  if (json) output.json(checkpoints);
  else output.out.print(...checkpointsLines(sanitizeAll(checkpoints), agent, output.out));
  return exitCode.completed;
};

const createCheckpoint = async (request: RequestTo<'create'>, context: CommandContext): Promise<ExitCode> => {
  const { output } = context;
  const { label, workspace } = request;
  await using cloister = await openToRead(workspace, context);
  const run = await resolveRun(cloister, request.run);
  const created = await cloister.checkpoints.create(run, label === null ? {} : { label });
  if (request.json) output.json(created);
  else {
    const { id, frames } = sanitizeAll(created);
    output.out.print(
      `checkpoint ${id}: run ${run}, ${plural(frames, 'record')}. To return to it, or to branch from it:`,
      `  ${cloisterCommand(`checkpoints restore ${id}`, workspace)}`,
      `  ${cloisterCommand(`checkpoints branch ${id}`, workspace)}`,
    );
  }
  return exitCode.completed;
};

/** Exits like diff(1): 0 if they are identical, 1 if they differ. */
const diffCheckpoints = async (
  { workspace, id, other, agent, json }: RequestTo<'diff'>,
  context: CommandContext,
): Promise<ExitCode> => {
  const { output } = context;
  await using cloister = await openToRead(workspace, context);
  const one = await findCheckpointByName(cloister, { id, agent }, context.world);
  const diff = await cloister.checkpoints.diff(
    one.ref,
    (await findCheckpointByName(cloister, { id: other, agent }, context.world)).ref,
  );
  if (json) output.json(diff);
  else output.out.print(...checkpointDiffLines(sanitizeAll(diff), output.out));
  return isIdentical(diff) ? exitCode.completed : exitCode.config;
};

/** If a run continues from the checkpoint, it is shown like any other. */
const continueFromCheckpoint = async (request: CheckpointRunRequest, context: CommandContext): Promise<ExitCode> => {
  const { ref, checkpoint } = await findCheckpoint(request, context);
  let conversation: ConversationRef | null = checkpoint?.conversation ?? null;
  const also = () => ({ checkpoint: checkpoint?.id ?? ref, conversation });
  return followRun(
    {
      request,
      open: () =>
        checkpoint === null ? openToRead(request.workspace, context) : openForRun(checkpoint, request, context),
      begin: async ({ checkpoints }) => {
        if (request.action === 'restore') return checkpoints.restore(ref);
        const branch = await checkpoints.branch(ref, branchOptions(request));
        conversation = branch.conversation;
        return branch.session;
      },
      onNothingToRun: () => {
        if (request.jsonl) context.output.jsonLine({ ...also(), run: null });
        else if (request.json) context.output.json({ ...also(), run: null });
        else context.output.out.print(...nothingToRunLines(request, also()));
      },
      extraJson: also,
      nextCommands: (run) => (checkpoint === null ? [] : [`diff ${checkpoint.run} ${run}`]),
    },
    context,
  );
};

/** Runs before any agent is loaded: a wrong checkpoint needs none. */
const findCheckpoint = async (request: CheckpointRunRequest, context: CommandContext): Promise<ResolvedCheckpoint> => {
  await using cloister = await openToRead(request.workspace, context);
  return await findCheckpointByName(cloister, request, context.world);
};

const branchOptions = ({ name, to }: CheckpointRunRequest) => ({
  ...(name === null ? {} : { name }),
  ...(to === null ? {} : { agent: to }),
});

/** Nothing was in flight at the checkpoint: only the conversation was reset or branched. */
const nothingToRunLines = (
  { action, workspace }: CheckpointRunRequest,
  { checkpoint, conversation }: { readonly checkpoint: string; readonly conversation: ConversationRef | null },
): readonly string[] => {
  const id = sanitizeLine(checkpoint);
  if (conversation === null) return [`Nothing to continue: the run had already ended at checkpoint ${id}.`];
  const name = shellWord(formatConversation(conversation));
  const chat = `chat ${shellWord(conversation.agent)} --conversation ${shellWord(conversation.name)}`;
  return [
    action === 'restore' ? `${name} continues from checkpoint ${id}:` : `${name} starts from checkpoint ${id}:`,
    `  ${cloisterCommand(chat, workspace)}`,
  ];
};
