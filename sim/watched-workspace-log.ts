// The book as one process writes it, with a note of each page: what it says, and whether it was acknowledged.
import type { WorkspaceEntry, WorkspaceRecord, Checkpoint, ConversationRef } from '#contracts';
import type { Noting } from './history.ts';
import type { World } from './world.ts';

type Writer = { readonly no: number; readonly alive: boolean; readonly world: World };

export const noteWatched = async (
  process: Writer,
  record: WorkspaceRecord,
  after: number | undefined,
  note: () => Promise<number>,
): Promise<number> => {
  const { world } = process;
  expectRun(process, record);
  const noting: Noting = { process: process.no, record, after, onDisk: world.onDisk(), no: null, there: false };
  world.notings.push(noting);
  const no = await note();
  if (!process.alive) return no;
  noting.no = no;
  noting.there = world.disk.pages().length > no;
  world.trace.note(`page ${no} by ${process.no}: ${record.type}`);
  return no;
};

/** How a process and a conversation are named together. */
export const turnKey = (process: number, { agent, name }: ConversationRef): string => `${process} ${agent}/${name}`;

/** A run that has a page is one that was asked for, whatever becomes of it. */
const expectRun = ({ no, world }: Writer, record: WorkspaceRecord): void => {
  if (record.type === 'turn') {
    const { run, conversation } = record;
    const asked = world.turnsAsked.get(turnKey(no, conversation));
    if (asked !== undefined && world.request(run) === undefined)
      world.requests.push({ ...asked, run, conversation, cut: null });
  }
  if (record.type === 'restore' || record.type === 'branch') {
    const { run, conversation } = record;
    const from = checkpointsIn(world).find(({ id }) => id === record.checkpoint);
    const origin = from && world.request(from.run);
    if (run === null || from === undefined || origin === undefined) return;
    const request = { ...origin, run, conversation, cut: { run: from.run, frames: from.frames } };
    const known = world.requests.findIndex((one) => one.run === run);
    // Wanted again after others had written: perhaps under another name.
    if (known >= 0) world.requests[known] = request;
    else {
      world.requests.push(request);
      world.onContinued?.(request);
    }
  }
};

export const checkpointsIn = ({ disk }: World): readonly Checkpoint[] =>
  disk.pages().flatMap((body) => {
    const { record } = JSON.parse(body) as WorkspaceEntry;
    return record.type === 'checkpoint' ? [record.checkpoint] : [];
  });

/** Those that a turn or a branch began, each once. */
export const conversationsIn = ({ disk }: World): readonly ConversationRef[] => {
  const found = new Map<string, ConversationRef>();
  for (const body of disk.pages()) {
    const { record } = JSON.parse(body) as WorkspaceEntry;
    if ((record.type === 'turn' || record.type === 'branch') && record.conversation !== null)
      found.set(JSON.stringify(record.conversation), record.conversation);
  }
  return [...found.values()];
};
