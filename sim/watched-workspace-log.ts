// The workspace log as one process writes it. Keeps each appended record, and whether it was acknowledged.
import type { WorkspaceEntry, WorkspaceRecord, Checkpoint, ConversationRef } from '#contracts';
import type { RecordWrite } from './history.ts';
import type { World } from './world.ts';

type Writer = { readonly no: number; readonly alive: boolean; readonly world: World };

export const appendWatched = async (
  process: Writer,
  record: WorkspaceRecord,
  after: number | undefined,
  append: () => Promise<number>,
): Promise<number> => {
  const { world } = process;
  expectRequest(process, record);
  const write: RecordWrite = { process: process.no, record, after, onDisk: world.onDisk(), no: null, wasOnDisk: false };
  world.recordWrites.push(write);
  const no = await append();
  if (!process.alive) return no;
  write.no = no;
  write.wasOnDisk = world.disk.workspaceRecords().length > no;
  world.trace.note(`workspace record ${no} by ${process.no}: ${record.type}`);
  return no;
};

/** A record that the store appends together with a change; nobody is told its number. */
export const noteRecord = ({ no: process, world }: Pick<Writer, 'no' | 'world'>, record: WorkspaceRecord): void =>
  void world.recordWrites.push({
    process,
    record,
    after: undefined,
    onDisk: world.onDisk(),
    no: null,
    wasOnDisk: false,
  });

/** A key for a process and a conversation. */
export const turnKey = (process: number, { agent, name }: ConversationRef): string => `${process} ${agent}/${name}`;

/** A run with a workspace record counts as requested, whatever becomes of it. */
const expectRequest = ({ no, world }: Writer, record: WorkspaceRecord): void => {
  if (record.type === 'turn') {
    const { run, conversation } = record;
    const requested = world.requestedTurns.get(turnKey(no, conversation));
    if (requested !== undefined && world.request(run) === undefined)
      world.requests.push({ ...requested, run, conversation, forkedFrom: null });
  }
  if (record.type === 'restore' || record.type === 'branch') {
    const { run, conversation } = record;
    const from = checkpointsIn(world).find(({ id }) => id === record.checkpoint);
    const origin = from && world.request(from.run);
    if (run === null || from === undefined || origin === undefined) return;
    const request = { ...origin, run, conversation, forkedFrom: { run: from.run, frames: from.frames } };
    const known = world.requests.findIndex((one) => one.run === run);
    // Retried after a conflict, perhaps under another name.
    if (known >= 0) world.requests[known] = request;
    else {
      world.requests.push(request);
      world.onFork?.(request);
    }
  }
};

export const checkpointsIn = ({ disk }: World): readonly Checkpoint[] =>
  disk.workspaceRecords().flatMap((body) => {
    const { record } = JSON.parse(body) as WorkspaceEntry;
    return record.type === 'checkpoint' ? [record.checkpoint] : [];
  });

/** All conversations that a turn or a branch started, each once. */
export const conversationsIn = ({ disk }: World): readonly ConversationRef[] => {
  const found = new Map<string, ConversationRef>();
  for (const body of disk.workspaceRecords()) {
    const { record } = JSON.parse(body) as WorkspaceEntry;
    if ((record.type === 'turn' || record.type === 'branch') && record.conversation !== null)
      found.set(JSON.stringify(record.conversation), record.conversation);
  }
  return [...found.values()];
};
