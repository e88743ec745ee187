// `checkpoints`: places in runs that one can go back to.
import type { ConversationRef } from '#contracts';
import { checkpointDiffLines, checkpointsLines, isSame } from './checkpoint-lines.ts';
import { conversationWords } from './conversation-name.ts';
import type { CommandContext } from './command-context.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { plural } from './format-numbers.ts';
import { followRun } from './follow-run.ts';
import { openForRun } from './open-for-run.ts';
import { openToRead } from './open-to-read.ts';
import { cloisterCommand } from './cloister-command.ts';
import type { CheckpointRunRequest, CheckpointsRequest } from './request.ts';
import { findCheckpointByName, listKnownConversations } from './resolve-conversation.ts';
import type { ResolvedCheckpoint } from './resolve-conversation.ts';
import { resolveRun } from './resolve-name.ts';
import { shellWord } from './shell-word.ts';
import { sanitizeAll, sanitizeLine } from './sanitize-text.ts';

type RequestTo<A extends CheckpointsRequest['action']> = Extract<CheckpointsRequest, { readonly action: A }>;

export const checkpointsCommand = (request: CheckpointsRequest, desk: CommandContext): Promise<ExitCode> => {
  switch (request.action) {
    case 'list':
      return listThem(request, desk);
    case 'create':
      return create(request, desk);
    case 'diff':
      return diffThem(request, desk);
    case 'restore':
    case 'branch':
      return goBack(request, desk);
  }
};

const listThem = async (request: RequestTo<'list'>, desk: CommandContext): Promise<ExitCode> => {
  const { agent, json } = request;
  const { output } = desk;
  const asked = agent === null ? {} : { agent };
  const checkpoints = await listKnownConversations(request, desk, (cloister) => cloister.checkpoints.list(asked));
  if (json) output.json(checkpoints);
  else output.out.print(...checkpointsLines(sanitizeAll(checkpoints), agent, output.out));
  return exitCode.completed;
};

const create = async (request: RequestTo<'create'>, desk: CommandContext): Promise<ExitCode> => {
  const { output } = desk;
  const { label, workspace } = request;
  await using cloister = await openToRead(workspace, desk);
  const run = await resolveRun(cloister, request.run);
  const made = await cloister.checkpoints.create(run, label === null ? {} : { label });
  if (request.json) output.json(made);
  else {
    const { id, frames } = sanitizeAll(made);
    output.out.print(
      `checkpoint ${id}: run ${run}, ${plural(frames, 'record')}. Go back to it, or on from it apart:`,
      `  ${cloisterCommand(`checkpoints restore ${id}`, workspace)}`,
      `  ${cloisterCommand(`checkpoints branch ${id}`, workspace)}`,
    );
  }
  return exitCode.completed;
};

/** As diff does: 0 when they are the same, 1 when they are not. */
const diffThem = async (
  { workspace, id, other, agent, json }: RequestTo<'diff'>,
  desk: CommandContext,
): Promise<ExitCode> => {
  const { output } = desk;
  await using cloister = await openToRead(workspace, desk);
  const one = await findCheckpointByName(cloister, { id, agent }, desk.world);
  const diff = await cloister.checkpoints.diff(
    one.asked,
    (await findCheckpointByName(cloister, { id: other, agent }, desk.world)).asked,
  );
  if (json) output.json(diff);
  else output.out.print(...checkpointDiffLines(sanitizeAll(diff), output.out));
  return isSame(diff) ? exitCode.completed : exitCode.config;
};

/** The run that goes on from it, if there is one, is shown like any other. */
const goBack = async (request: CheckpointRunRequest, desk: CommandContext): Promise<ExitCode> => {
  const { asked, checkpoint } = await find(request, desk);
  let conversation: ConversationRef | null = checkpoint?.conversation ?? null;
  const also = () => ({ checkpoint: checkpoint?.id ?? asked, conversation });
  return followRun(
    {
      request,
      open: () => (checkpoint === null ? openToRead(request.workspace, desk) : openForRun(checkpoint, request, desk)),
      begin: async ({ checkpoints }) => {
        if (request.action === 'restore') return checkpoints.restore(asked);
        const branch = await checkpoints.branch(asked, branchOptions(request));
        conversation = branch.conversation;
        return branch.session;
      },
      still: () => {
        if (request.jsonl) desk.output.jsonLine({ ...also(), run: null });
        else if (request.json) desk.output.json({ ...also(), run: null });
        else desk.output.out.print(...stillLines(request, also()));
      },
      also,
      further: (run) => (checkpoint === null ? [] : [`diff ${checkpoint.run} ${run}`]),
    },
    desk,
  );
};

/** Before any agent is looked for. */
const find = async (request: CheckpointRunRequest, desk: CommandContext): Promise<ResolvedCheckpoint> => {
  await using cloister = await openToRead(request.workspace, desk);
  return await findCheckpointByName(cloister, request, desk.world);
};

const branchOptions = ({ name, to }: CheckpointRunRequest) => ({
  ...(name === null ? {} : { name }),
  ...(to === null ? {} : { agent: to }),
});

/** Nothing was under way at that place: only the conversation has moved. */
const stillLines = (
  { action, workspace }: CheckpointRunRequest,
  { checkpoint, conversation }: { readonly checkpoint: string; readonly conversation: ConversationRef | null },
): readonly string[] => {
  const id = sanitizeLine(checkpoint);
  if (conversation === null) return [`Nothing goes on from checkpoint ${id}: its run had ended there.`];
  const name = shellWord(conversationWords(conversation));
  const chat = `chat ${shellWord(conversation.agent)} --conversation ${shellWord(conversation.name)}`;
  return [
    action === 'restore' ? `${name} goes on from checkpoint ${id}:` : `${name} begins with checkpoint ${id}:`,
    `  ${cloisterCommand(chat, workspace)}`,
  ];
};
