// What the book and the logs say that was said in conversations: read anew, with no code of the runtime.
import type { RunId } from '#base';
import type { WorkspaceEntry, Checkpoint, ConversationRef, Frame } from '#contracts';
import type { DiskLengths, History, RunHistory } from '../history.ts';

/** One thing that was said. `agent` is null for a person. */
export type Said = { readonly agent: string | null; readonly category: string; readonly text: string };

/** When, in which run, and in whose turn. */
type Placed = Said & { readonly at: number; readonly run: RunId; readonly of: string };

/** A turn: its run, the cut that it goes on from, and how much of it counts; null: all. */
type Turn = { readonly run: RunId; readonly from: Checkpoint | null; readonly frames: number | null };
/** What a branch began with: before its run, and while that was under way; then its turns. */
type Talk = { readonly kept: readonly Placed[]; readonly meanwhile: readonly Placed[]; readonly line: readonly Turn[] };

export type TurnSeen = {
  readonly run: RunId;
  readonly conversation: ConversationRef;
  /** What had been said before it, in order. */
  readonly before: readonly Said[];
};

/** Each turn that was begun, with what its agent had to be told. */
export const turnsIn = (history: History): readonly TurnSeen[] => {
  const talks = new Map<string, Talk>();
  /** The line up to each turn, when it began. */
  const upTo = new Map<RunId, readonly Turn[]>();
  const checkpoints = new Map<string, { readonly checkpoint: Checkpoint; readonly line: readonly Turn[] }>();
  const seen: TurnSeen[] = [];
  const lineOf = (ref: ConversationRef | null): readonly Turn[] => (ref && talks.get(keyOf(ref))?.line) ?? [];
  for (const page of history.book.pages) {
    const { record } = page;
    if (record.type === 'purge') talks.delete(keyOf(record.conversation));
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
      const { conversation, run } = record;
      const talk = talks.get(keyOf(conversation)) ?? silent;
      seen.push({ run, conversation, before: saidIn(history, talk, onDiskAt(history, page)) });
      const line = [...talk.line, { run, from: null, frames: null }];
      upTo.set(run, line);
      talks.set(keyOf(conversation), { ...talk, line });
    }
    if (record.type !== 'restore' && record.type !== 'branch') continue;
    const { conversation, run } = record;
    const found = checkpoints.get(record.checkpoint);
    if (conversation === null || found === undefined) continue;
    const { checkpoint: from, line } = found;
    const goesOn: Turn | null = run === null ? null : { run, from, frames: null };
    if (record.type === 'restore') {
      const talk = talks.get(keyOf(conversation));
      if (talk === undefined || !upTo.has(from.run)) continue;
      const restored = line.map((turn) => (turn.run === from.run ? (goesOn ?? { ...turn, frames: null }) : turn));
      if (run !== null) upTo.set(run, restored.slice(0, restored.findIndex((turn) => turn.run === run) + 1));
      talks.set(keyOf(conversation), { ...talk, line: restored });
    } else {
      const origin = (from.conversation === null ? undefined : talks.get(keyOf(from.conversation))) ?? silent;
      const turns = line.length > 0 ? line : [{ run: from.run, from: null, frames: from.frames }];
      const all = saidIn(history, { ...origin, line: turns }, onDiskAt(history, page));
      const own = goesOn === null ? all.length : all.findIndex((one) => one.run === from.run);
      const later = all.slice(own).filter((one) => one.run !== from.run);
      if (goesOn !== null) upTo.set(goesOn.run, [goesOn]);
      talks.set(keyOf(conversation), {
        kept: all.slice(0, own),
        meanwhile: later,
        line: goesOn === null ? [] : [goesOn],
      });
    }
  }
  return seen;
};

/** As far as it had come when the checkpoint was taken. */
const cutTurn = (turn: Turn, { run, frames, others = [] }: Checkpoint): readonly Turn[] => {
  if (turn.run === run) return [{ ...turn, frames }];
  const reached = others.find((one) => one.run === turn.run)?.frames ?? Infinity;
  if (reached === 0 && turn.from === null) return [];
  const counts = Math.min(reached, turn.frames ?? Infinity);
  return [counts === Infinity ? turn : { ...turn, frames: counts }];
};

const silent: Talk = { kept: [], meanwhile: [], line: [] };

export const keyOf = ({ agent, name }: ConversationRef): string => `${agent}/${name}`;

/** What was on the disk when the page was handed over. */
const onDiskAt = ({ notings }: History, { no, record }: WorkspaceEntry): DiskLengths => {
  const words = JSON.stringify(record);
  const noting =
    notings.find((one) => one.no === no) ?? notings.findLast((one) => JSON.stringify(one.record) === words);
  return noting?.onDisk ?? [];
};

const framesOf = ({ runs }: History, run: RunId): readonly Frame[] => runs.find((one) => one.run === run)?.frames ?? [];

/** What counts of it, as the disk had it then. */
const saidIn = (history: History, { kept, meanwhile, line }: Talk, onDisk: DiskLengths): readonly Placed[] => {
  const turns = line.map(({ run, from, frames: counts }) => {
    const index = history.runs.findIndex((one) => one.run === run);
    const frames = history.runs[index]?.frames.slice(0, Math.min(onDisk[index] ?? 0, counts ?? Infinity)) ?? [];
    // One that never began says what it was to go on from.
    const said = frames.length > 0 || from === null ? frames : framesOf(history, from.run).slice(0, from.frames);
    return saidBy(said);
  });
  const [first = [], ...others] = turns;
  return [...kept, ...merged([first, ...Map.groupBy(meanwhile, ({ run }) => run).values(), ...others])];
};

/** By time; but an agent ends one turn before the next, and no turn begins before one that the book has earlier. */
const merged = (turns: readonly (readonly Placed[])[]): readonly Placed[] => {
  let beganLast = 0;
  const over = new Map<string, number>();
  const placed: { readonly said: Placed; readonly at: number }[] = [];
  for (const turn of turns) {
    const [first] = turn;
    if (first === undefined) continue;
    const earliest = Math.max(beganLast, over.get(first.of) ?? 0);
    for (const said of turn) placed.push({ said, at: Math.max(said.at, earliest) });
    beganLast = Math.max(first.at, earliest);
    over.set(first.of, Math.max(turn.at(-1)!.at, earliest));
  }
  return placed.toSorted((one, other) => one.at - other.at).map(({ said }) => said);
};

/** What was given, asked and answered in the first frames of a run. */
const saidBy = (frames: readonly Frame[]): readonly Placed[] => {
  const root = frames[0]?.cell;
  const { agent = '', spawned } = frames[0]?.record.type === 'open' ? frames[0].record.birth : {};
  return frames.flatMap((frame): readonly Placed[] => {
    const { at, run, record, contents = [] } = frame;
    const heard = contents.filter(({ cell, from }) => cell === root && from === 'outside');
    const told = heard.flatMap(({ kind, content }) => (kind === 'history' ? givenIn(content) : []));
    const asked = [
      ...heard.flatMap(({ kind, content }) => (kind === 'goal' ? [content] : [])),
      ...heard.flatMap(({ kind, content }) => (kind === 'message' ? [wordsOf(content)] : [])),
    ];
    // One that lives on has answered each message before it ends.
    const output = record.type === 'close' && spawned === undefined ? record.outcome.output : '';
    const place = { at, run, of: agent };
    return [
      ...told.map((text) => ({ agent: null, category: 'CONTEXT', text, ...place })),
      ...asked.map((text) => ({ agent: null, category: 'DIALOG', text, ...place })),
      ...answersIn(frame, root).map((text) => ({ agent, category: 'DIALOG', text, ...place })),
      ...(output === '' ? [] : [{ agent, category: 'DIALOG', text: output, ...place }]),
    ];
  });
};

/** The text of a letter comes after a line of JSON. */
const wordsOf = (content: string): string => content.slice(content.indexOf('\n') + 1);

/** What one that lives on has said to the person, if its work came to something. */
const answersIn = ({ record, cell, contents = [] }: Frame, root: string | undefined): readonly string[] => {
  if (record.type !== 'post' || record.name !== 'mail:answer' || cell !== root) return [];
  const status = record.about?.['status'];
  if (status !== 'completed' && status !== 'partial') return [];
  return contents.flatMap(({ kind, to, content }) =>
    kind === 'message' && to === 'outside' ? [wordsOf(content)] : [],
  );
};

export type Told = {
  readonly conversation: string;
  readonly leftOut: number;
  readonly entries: readonly Said[];
  readonly given?: number;
};

/** What came with the turn itself, or later: not what was said before. */
const givenIn = (content: string): readonly string[] => {
  const { conversation, entries, given = 0 } = JSON.parse(content) as Told;
  return entries.slice(conversation === '' ? 0 : entries.length - given).map(({ text }) => text);
};

/** What the root of a run was told when it began; null when nothing was. */
export const toldIn = ({ frames }: RunHistory): Told | null => {
  const content = frames[0]?.contents?.find(({ kind, cell }) => kind === 'history' && cell === frames[0]?.cell);
  return content === undefined ? null : (JSON.parse(content.content) as Told);
};
