// Reconstructs conversations from the workspace log and the run logs, without code of the runtime.
import type { RunId } from '#base';
import type { WorkspaceEntry, Checkpoint, ConversationRef, Frame } from '#contracts';
import type { DiskLengths, History, RunHistory } from '../history.ts';
import { filesLeftBy } from './turn-files.ts';
import { toolCallsIn } from './tool-calls.ts';
import type { FilesLeft } from './turn-files.ts';

/** One entry of a conversation. `agent` is null for a person. */
export type ConversationEntry = {
  readonly agent: string | null;
  readonly category: string;
  readonly text: string;
  /** For TOOLS: the call. */
  readonly call?: { readonly name: string; readonly failed?: true };
};

/** An entry with its time, its run, and the agent whose turn it was. */
type PlacedEntry = ConversationEntry & { readonly at: number; readonly run: RunId; readonly of: string };

/** A turn: its run, the checkpoint it was forked from, and how many frames of it count; null: all. */
type Turn = {
  readonly run: RunId;
  readonly agent: string;
  readonly from: Checkpoint | null;
  readonly frames: number | null;
};
/** What a branch started with (before its run, and during that run; and each agent's files), and its turns. */
type ConversationState = {
  readonly files: ReadonlyMap<string, FilesLeft>;
  readonly kept: readonly PlacedEntry[];
  readonly meanwhile: readonly PlacedEntry[];
  readonly line: readonly Turn[];
};

export type ExpectedTurn = {
  readonly run: RunId;
  readonly conversation: ConversationRef;
  /** The conversation before the turn, in order. */
  readonly before: readonly ConversationEntry[];
  /** What its agent's turn before left; null: there was no such turn. */
  readonly files: FilesLeft | null;
};

/** Each turn that was started, with the history that its agent had to get. */
export const turnsIn = (history: History): readonly ExpectedTurn[] => {
  const conversations = new Map<string, ConversationState>();
  /** The turns up to each turn, at its start. */
  const upTo = new Map<RunId, readonly Turn[]>();
  const checkpoints = new Map<string, { readonly checkpoint: Checkpoint; readonly line: readonly Turn[] }>();
  const seen: ExpectedTurn[] = [];
  const lineOf = (ref: ConversationRef | null): readonly Turn[] =>
    (ref && conversations.get(conversationKey(ref))?.line) ?? [];
  const deleted = new Set<RunId>();
  for (const entry of history.workspaceLog.entries) {
    const { record } = entry;
    if (record.type === 'tombstone') deleted.add(record.tombstone.run);
    if (record.type === 'import') deleted.delete(record.run);
    if (record.type === 'purge') conversations.delete(conversationKey(record.conversation));
    if (record.type === 'checkpoint') {
      const { checkpoint } = record;
      const line = lineOf(checkpoint.conversation);
      const counts = line.some(({ run }) => run === checkpoint.run);
      const turns = counts ? line : (upTo.get(checkpoint.run) ?? []);
      const last = turns.findIndex(({ run }) => run === checkpoint.newest);
      const begun = last < 0 ? turns : turns.slice(0, last + 1);
      checkpoints.set(checkpoint.id, { checkpoint, line: begun.flatMap((turn) => cutTurn(turn, checkpoint)) });
    }
    if (record.type === 'turn') {
      const { conversation, run, agent } = record;
      const state = conversations.get(conversationKey(conversation)) ?? emptyConversation;
      const then = { onDisk: onDiskAt(history, entry), deleted: new Set(deleted) };
      const files = filesIn(history, state, then).get(agent) ?? null;
      seen.push({ run, conversation, before: entriesIn(history, state, then), files });
      const line = [...state.line, { run, agent, from: null, frames: null }];
      upTo.set(run, line);
      conversations.set(conversationKey(conversation), { ...state, line });
    }
    if (record.type !== 'restore' && record.type !== 'branch') continue;
    const { conversation, run } = record;
    const found = checkpoints.get(record.checkpoint);
    if (conversation === null || found === undefined) continue;
    const { checkpoint: from, line } = found;
    const { agent } = from;
    const continuation: Turn | null = run === null ? null : { run, agent, from, frames: null };
    if (record.type === 'restore') {
      const state = conversations.get(conversationKey(conversation));
      if (state === undefined || !upTo.has(from.run)) continue;
      const restored = line.map((turn) => (turn.run === from.run ? (continuation ?? { ...turn, frames: null }) : turn));
      if (run !== null) upTo.set(run, restored.slice(0, restored.findIndex((turn) => turn.run === run) + 1));
      conversations.set(conversationKey(conversation), { ...state, line: restored });
    } else {
      const origin =
        (from.conversation === null ? undefined : conversations.get(conversationKey(from.conversation))) ??
        emptyConversation;
      const turns = line.length > 0 ? line : [{ run: from.run, agent, from: null, frames: from.frames }];
      const then = { onDisk: onDiskAt(history, entry), deleted: new Set(deleted) };
      const all = entriesIn(history, { ...origin, line: turns }, then);
      const own = continuation === null ? all.length : all.findIndex((one) => one.run === from.run);
      const later = all.slice(own).filter((one) => one.run !== from.run);
      if (continuation !== null) upTo.set(continuation.run, [continuation]);
      conversations.set(conversationKey(conversation), {
        files: filesIn(history, { ...origin, line: turns }, then),
        kept: all.slice(0, own),
        meanwhile: later,
        line: continuation === null ? [] : [continuation],
      });
    }
  }
  return seen;
};

/** The turn as of the checkpoint. */
const cutTurn = (turn: Turn, { run, frames, others = [] }: Checkpoint): readonly Turn[] => {
  if (turn.run === run) return [{ ...turn, frames }];
  const reached = others.find((one) => one.run === turn.run)?.frames ?? Infinity;
  if (reached === 0 && turn.from === null) return [];
  const counts = Math.min(reached, turn.frames ?? Infinity);
  return [counts === Infinity ? turn : { ...turn, frames: counts }];
};

const emptyConversation: ConversationState = { files: new Map(), kept: [], meanwhile: [], line: [] };

export const conversationKey = ({ agent, name }: ConversationRef): string => `${agent}/${name}`;

/** What was on the disk when the record was appended. */
const onDiskAt = ({ recordWrites }: History, { no, record }: WorkspaceEntry): DiskLengths => {
  const words = JSON.stringify(record);
  const noting =
    recordWrites.find((one) => one.no === no) ?? recordWrites.findLast((one) => JSON.stringify(one.record) === words);
  return noting?.onDisk ?? [];
};

const framesOf = ({ runs }: History, run: RunId): readonly Frame[] => runs.find((one) => one.run === run)?.frames ?? [];

/** What was on the disk, and which runs were deleted. */
type Moment = { readonly onDisk: DiskLengths; readonly deleted: ReadonlySet<RunId> };

/** The entries that count, as of what was on the disk. */
const entriesIn = (
  history: History,
  { kept, meanwhile, line }: ConversationState,
  then: Moment,
): readonly PlacedEntry[] => {
  const turns = line.map((turn) => entriesOfRun(countedFrames(history, turn, then)));
  const [first = [], ...others] = turns;
  return [...kept, ...mergeByTime([first, ...Map.groupBy(meanwhile, ({ run }) => run).values(), ...others])];
};

/** The frames of a turn that count, as of what was on the disk. */
const countedFrames = (
  history: History,
  { run, from, frames: counts }: Turn,
  { onDisk, deleted }: Moment,
): readonly Frame[] => {
  const index = history.runs.findIndex((one) => one.run === run);
  const frames = history.runs[index]?.frames.slice(0, Math.min(onDisk[index] ?? 0, counts ?? Infinity)) ?? [];
  // A fork that never started counts with the frames it was to keep, unless it or its origin is gone.
  const isGone = deleted.has(run) || (from !== null && deleted.has(from.run));
  return frames.length > 0 || from === null || isGone ? frames : framesOf(history, from.run).slice(0, from.frames);
};

/** What the newest turn of each agent left. */
const filesIn = (
  history: History,
  { files, line }: ConversationState,
  then: Moment,
): ReadonlyMap<string, FilesLeft> => {
  const left = new Map(files);
  for (const turn of line) {
    const frames = countedFrames(history, turn, then);
    if (frames.length > 0) left.set(turn.agent, filesLeftBy(frames));
  }
  return left;
};

/** Merges by time. An agent's turns do not overlap, and no turn starts before one that is earlier in the workspace log. */
const mergeByTime = (turns: readonly (readonly PlacedEntry[])[]): readonly PlacedEntry[] => {
  let beganLast = 0;
  const over = new Map<string, number>();
  const placed: { readonly entry: PlacedEntry; readonly at: number }[] = [];
  for (const turn of turns) {
    const [first] = turn;
    if (first === undefined) continue;
    const earliest = Math.max(beganLast, over.get(first.of) ?? 0);
    for (const entry of turn) placed.push({ entry, at: Math.max(entry.at, earliest) });
    beganLast = Math.max(first.at, earliest);
    over.set(first.of, Math.max(turn.at(-1)!.at, earliest));
  }
  return placed.toSorted((one, other) => one.at - other.at).map(({ entry }) => entry);
};

/** The context, requests and answers in the given frames of a run. */
const entriesOfRun = (frames: readonly Frame[]): readonly PlacedEntry[] => {
  const root = frames[0]?.cell;
  const { agent = '', spawned } = frames[0]?.record.type === 'open' ? frames[0].record.birth : {};
  const calls = toolCallsIn(frames);
  return frames.flatMap((frame): readonly PlacedEntry[] => {
    const { at, run, record, contents = [] } = frame;
    const incoming = contents.filter(({ cell, from }) => cell === root && from === 'outside');
    const context = incoming.flatMap(({ kind, content }) => (kind === 'history' ? contextIn(content) : []));
    const asked = [
      ...incoming.flatMap(({ kind, content }) => (kind === 'goal' ? [content] : [])),
      ...incoming.flatMap(({ kind, content }) => (kind === 'message' ? [messageBody(content)] : [])),
    ];
    // A resident answers each message before it ends, so its outcome adds nothing.
    const output = record.type === 'close' && spawned === undefined ? record.outcome.output : '';
    const place = { at, run, of: agent };
    return [
      ...context.map((text) => ({ agent: null, category: 'CONTEXT', text, ...place })),
      ...asked.map((text) => ({ agent: null, category: 'DIALOG', text, ...place })),
      ...(calls.get(frame) ?? []).map((one) => ({ agent, category: 'TOOLS', ...one, ...place })),
      ...answersIn(frame, root).map((text) => ({ agent, category: 'DIALOG', text, ...place })),
      ...(output === '' ? [] : [{ agent, category: 'DIALOG', text: output, ...place }]),
    ];
  });
};

/** The text of a message comes after a line of JSON. */
const messageBody = (content: string): string => content.slice(content.indexOf('\n') + 1);

/** A resident's answers to the person, if the work succeeded at least partly. */
const answersIn = ({ record, cell, contents = [] }: Frame, root: string | undefined): readonly string[] => {
  if (record.type !== 'post' || record.name !== 'mail:answer' || cell !== root) return [];
  const status = record.about?.['status'];
  if (status !== 'completed' && status !== 'partial') return [];
  return contents.flatMap(({ kind, to, content }) =>
    kind === 'message' && to === 'outside' ? [messageBody(content)] : [],
  );
};

export type HistoryContent = {
  readonly conversation: string;
  readonly leftOut: number;
  readonly entries: readonly ConversationEntry[];
  readonly given?: number;
};

/** Context that came with the turn or later, not earlier history. */
const contextIn = (content: string): readonly string[] => {
  const { conversation, entries, given = 0 } = JSON.parse(content) as HistoryContent;
  return entries.slice(conversation === '' ? 0 : entries.length - given).map(({ text }) => text);
};

/** The history that the root of a run got at its start; null if none. */
export const historyGivenTo = ({ frames }: RunHistory): HistoryContent | null => {
  const content = frames[0]?.contents?.find(({ kind, cell }) => kind === 'history' && cell === frames[0]?.cell);
  return content === undefined ? null : (JSON.parse(content.content) as HistoryContent);
};
