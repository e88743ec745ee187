// What the book and the logs say that was said in conversations: read anew, with no code of the runtime.
import type { RunId } from '#base';
import type { BookPage, Checkpoint, ConversationRef, Frame } from '#contracts';
import type { DiskLengths, History, RunHistory } from '../history.ts';

/** One thing that was said. `agent` is null for a person. */
export type Said = { readonly agent: string | null; readonly category: string; readonly text: string };

/** A turn: its run, and the cut that it goes on from. */
type Turn = { readonly run: RunId; readonly before: readonly Turn[]; readonly from: Checkpoint | null };
type Talk = { readonly kept: readonly Said[]; readonly line: readonly Turn[] };

export type TurnSeen = {
  readonly run: RunId;
  readonly conversation: ConversationRef;
  /** What had been said before it, in order. */
  readonly before: readonly Said[];
};

/** Each turn that was begun, with what its agent had to be told. */
export const turnsIn = (history: History): readonly TurnSeen[] => {
  const talks = new Map<string, Talk>();
  const turns = new Map<RunId, Turn>();
  const checkpoints = new Map<string, Checkpoint>();
  const seen: TurnSeen[] = [];
  const add = (ref: ConversationRef, { kept }: Talk, turn: Turn): void => {
    turns.set(turn.run, turn);
    talks.set(keyOf(ref), { kept, line: [...turn.before, turn] });
  };
  for (const page of history.book.pages) {
    const { record } = page;
    if (record.type === 'checkpoint') checkpoints.set(record.checkpoint.id, record.checkpoint);
    if (record.type === 'turn') {
      const { conversation, run } = record;
      const talk = talks.get(keyOf(conversation)) ?? silent;
      seen.push({ run, conversation, before: [...talk.kept, ...saidIn(history, talk.line, onDiskAt(history, page))] });
      add(conversation, talk, { run, before: talk.line, from: null });
    }
    if (record.type !== 'restore' && record.type !== 'branch') continue;
    const { conversation, run } = record;
    const from = checkpoints.get(record.checkpoint);
    const turn = from && turns.get(from.run);
    if (conversation === null || from === undefined) continue;
    if (record.type === 'restore') {
      const talk = talks.get(keyOf(conversation));
      if (talk === undefined || turn === undefined) continue;
      if (run === null) talks.set(keyOf(conversation), { ...talk, line: [...turn.before, turn] });
      else add(conversation, talk, { run, before: turn.before, from });
    } else {
      const origin = (from.conversation === null ? undefined : talks.get(keyOf(from.conversation))) ?? silent;
      const before = saidIn(history, turn?.before ?? [], onDiskAt(history, page));
      const cut = run === null ? saidBy(framesOf(history, from.run).slice(0, from.frames)) : [];
      const talk = { kept: [...origin.kept, ...before, ...cut], line: [] };
      if (run === null) talks.set(keyOf(conversation), talk);
      else add(conversation, talk, { run, before: [], from });
    }
  }
  return seen;
};

const silent: Talk = { kept: [], line: [] };

export const keyOf = ({ agent, name }: ConversationRef): string => `${agent}/${name}`;

/** What was on the disk when the page was handed over. */
const onDiskAt = ({ notings }: History, { no, record }: BookPage): DiskLengths => {
  const words = JSON.stringify(record);
  const noting =
    notings.find((one) => one.no === no) ?? notings.findLast((one) => JSON.stringify(one.record) === words);
  return noting?.onDisk ?? [];
};

const framesOf = ({ runs }: History, run: RunId): readonly Frame[] => runs.find((one) => one.run === run)?.frames ?? [];

const saidIn = (history: History, line: readonly Turn[], onDisk: DiskLengths): readonly Said[] =>
  line.flatMap(({ run, from }) => {
    const index = history.runs.findIndex((one) => one.run === run);
    const frames = history.runs[index]?.frames.slice(0, onDisk[index] ?? 0) ?? [];
    // One that never began says what it was to go on from.
    return saidBy(frames.length > 0 || from === null ? frames : framesOf(history, from.run).slice(0, from.frames));
  });

/** What was given, asked and answered in the first frames of a run. */
const saidBy = (frames: readonly Frame[]): readonly Said[] => {
  const root = frames[0]?.cell;
  const agent = frames[0]?.record.type === 'open' ? frames[0].record.birth.agent : '';
  return frames.flatMap(({ record, contents = [] }): readonly Said[] => {
    const heard = contents.filter(({ cell, from }) => cell === root && from === 'outside');
    const told = heard.flatMap(({ kind, content }) => (kind === 'history' ? givenIn(content) : []));
    const asked = heard.flatMap(({ kind, content }) => (kind === 'goal' ? [content] : []));
    const output = record.type === 'close' ? record.outcome.output : '';
    return [
      ...told.map((text) => ({ agent: null, category: 'CONTEXT', text })),
      ...asked.map((text) => ({ agent: null, category: 'DIALOG', text })),
      ...(output === '' ? [] : [{ agent, category: 'DIALOG', text: output }]),
    ];
  });
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
