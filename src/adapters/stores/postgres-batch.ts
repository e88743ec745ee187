// A batch as `commit_batch` takes it, and what it answers.
import type { RunId } from '#base';
import { noTail, recordHash } from './chain.ts';
import type { Tail } from './chain.ts';
import type { Ack, Item, SharedAck, SignalAck } from './messages.ts';
import { decodeOwner } from './decode-owner.ts';
import type { StoredRow } from './decode-owner.ts';
import { describeOwner } from './processes.ts';
import { foldFactsInText, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';
import { waitingMax } from './signals.ts';
import { gapText, lostText } from './tables.ts';

/** Items that are written by a transaction of several steps. */
export type ChangeItem = Extract<Item, { do: 'record' | 'delete' | 'import' }>;

type FrameItem = Extract<Item, { do: 'frame' }>;

/** New frames of one run. */
type Group = { readonly run: RunId; readonly epoch: number; readonly before: Tail; readonly frames: FrameItem[] };

export type EncodedBatch = {
  readonly params: readonly unknown[];
  /** The new ends of logs, if everything is stored. */
  readonly tails: ReadonlyMap<RunId, Tail>;
  readonly released: readonly RunId[];
  /** Whether `commit_batch` has anything to do. */
  readonly isEmpty: boolean;
  /** Runs whose frames are not sent: they do not continue the log. */
  readonly broken: Ack['broken'];
  readonly signalKeys: readonly number[];
  readonly sharedKeys: readonly number[];
};

/** `tails`: of the runs that this process owns. */
export const encodeBatch = (
  { items, released: unreleased }: { readonly items: readonly Item[]; readonly released: readonly RunId[] },
  tails: ReadonlyMap<RunId, Tail>,
): EncodedBatch => {
  const { groups, broken } = groupFrames(items, tails);
  const frames = encodeFrames(groups);
  const released = [...unreleased, ...items.flatMap((item) => (item.do === 'release' ? [item.run] : []))];
  const wanted = items.flatMap((item) => (item.do === 'own' ? [item.run] : []));
  const signals = items.filter((item) => item.do === 'signal' || item.do === 'remove-signal');
  const confirmed = items.filter((item) => item.do === 'confirm');
  const shared = items.filter((item) => item.do === 'share');
  const blobs = encodeBlobs(items);
  return {
    params: [
      ...frames.params,
      names(confirmed.map(({ run }) => run)),
      list(confirmed.map(({ epoch }) => epoch)),
      names(released),
      names([...new Set(wanted)]),
      signals.length === 0 ? null : JSON.stringify(signals.map(signalItem)),
      shared.length === 0
        ? null
        : JSON.stringify(shared.map(({ name, row }) => ({ name: JSON.stringify(name), ...row }))),
      waitingMax,
      ...blobs.params,
    ],
    tails: frames.tails,
    released,
    isEmpty:
      groups.length +
        released.length +
        wanted.length +
        signals.length +
        blobs.count +
        confirmed.length +
        shared.length ===
      0,
    broken,
    signalKeys: signals.flatMap((item) => (item.do === 'signal' ? [item.key] : [])),
    sharedKeys: shared.map(({ key }) => key),
  };
};

/** The frames of a run up to the first one that does not follow. */
const groupFrames = (items: readonly Item[], tails: ReadonlyMap<RunId, Tail>) => {
  const groups = new Map<RunId, Group>();
  const broken = new Map<RunId, Ack['broken'][number]>();
  for (const item of items) {
    if (item.do !== 'frame' || broken.has(item.run)) continue;
    const { run, epoch, no } = item;
    const before = tails.get(run);
    if (before === undefined) {
      broken.set(run, { run, detail: lostText(run, undefined), isLost: true });
      continue;
    }
    const group = groups.get(run) ?? { run, epoch, before, frames: [] };
    const last = group.frames.at(-1)?.no ?? before.no;
    if (no !== last + 1) broken.set(run, { run, detail: gapText(run, no, last) });
    else {
      group.frames.push(item);
      groups.set(run, group);
    }
  }
  return { groups: [...groups.values()], broken: [...broken.values()] };
};

const encodeFrames = (groups: readonly Group[]) => {
  const tails = new Map<RunId, Tail>();
  const [facts, forks, bodies, hashes]: [object[], number[], string[], string[]] = [[], [], [], []];
  const [runs, nos, starts, lengths]: [number[], number[], number[], number[]] = [[], [], [], []];
  let end = 0;
  for (const [at, { run, before, frames }] of groups.entries()) {
    let { hash } = before;
    let folded = noFacts;
    for (const { no, body } of frames) {
      hash = recordHash(hash, body);
      folded = foldFactsInText(folded, body);
      if (body.includes(forkMark)) forks.push(hashes.length + 1);
      const length = Buffer.byteLength(body);
      runs.push(at + 1);
      nos.push(no);
      starts.push(end + 1);
      lengths.push(length);
      hashes.push(hash);
      bodies.push(body);
      end += length;
    }
    tails.set(run, { no: before.no + frames.length, hash });
    const isNew = before.no === noTail.no;
    if (isNew || folded !== noFacts) facts.push({ nth: at + 1, ...encodeFacts(folded, isNew) });
  }
  const params = [
    names(groups.map(({ run }) => run)),
    list(groups.map(({ epoch }) => epoch)),
    list(groups.map(({ before }) => before.no + 1)),
    list(groups.map(({ before }) => before.hash)),
    list(groups.map(({ run }) => tails.get(run)!.hash)),
    list(groups.map(({ frames }) => frames.length)),
    list(runs),
    list(nos),
    list(starts),
    list(lengths),
    list(hashes),
    Buffer.from(bodies.join('')),
    JSON.stringify(facts),
    list(forks),
  ];
  return { params, tails };
};

/** Records that say that a run is a fork are found without reading the others. */
export const forkMark = '"type":"fork"';

/** What is said of a run with its first frames, and what later frames may change. */
export const encodeFacts = (facts: RunFacts, isNew: boolean): object => {
  const { agent, goal, startedAt, endedAt, status, cells, caller, spent, recordedBy } = facts;
  const first = {
    agent: JSON.stringify(agent),
    goal: JSON.stringify(goal),
    started_at: startedAt,
    caller: textOf(caller),
    format: recordedBy?.format ?? null,
    build: textOf(recordedBy?.build ?? null),
  };
  return { ...(isNew ? first : {}), ended_at: endedAt, status, cells, spent: textOf(spent) };
};

/** JSON as text: text of the database cannot hold every character. */
const textOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));

const signalItem = (item: Extract<Item, { do: 'signal' | 'remove-signal' }>): object => {
  if (item.do === 'remove-signal') return { run: item.run, id: JSON.stringify(item.id) };
  const { run, id, by, at, body } = item.signal;
  return { run, id: JSON.stringify(id), sender: JSON.stringify(by), at, body };
};

/** Each once, in one order, so that two processes that store the same ones do not wait for each other. */
const encodeBlobs = (items: readonly Item[]) => {
  const blobs = new Map(items.flatMap((item) => (item.do === 'blob' ? [[item.ref, item.bytes] as const] : [])));
  const sorted = [...blobs].toSorted(([one], [other]) => (one < other ? -1 : 1));
  let end = 0;
  const starts = sorted.map(([, { length }]) => (end += length) - length + 1);
  const params = [
    list(sorted.map(([ref]) => ref)),
    list(starts),
    list(sorted.map(([, { length }]) => length)),
    Buffer.concat(sorted.map(([, bytes]) => bytes)),
  ];
  return { params, count: sorted.length };
};

/** An array as the database reads it; only for what needs no quotes. */
export const list = (values: readonly (number | string)[]): string => `{${values.join(',')}}`;

const names = (values: readonly string[]): string => `{${values.map((value) => `"${value}"`).join(',')}}`;

/** Two numbers and what `encodeBatch` makes. */
export const commitQuery = `SELECT commit_batch(${Array.from({ length: 27 }, (_, nth) => `$${nth + 1}`).join(',')}) AS answer`;

type Answer = {
  readonly broken?: readonly {
    readonly run: RunId;
    /** Null: the run was only asked about. */
    readonly first: number | null;
    readonly frames: number | null;
    readonly isOwned: boolean;
    readonly owner: StoredRow | null;
  }[];
  readonly owned?: readonly {
    readonly run: RunId;
    readonly isDeleted?: true;
    readonly owner?: StoredRow;
    readonly epoch?: number;
    readonly frames?: number;
    readonly head?: string;
  }[];
  readonly decisions?: readonly SignalAck['decision'][];
  readonly shared?: readonly boolean[];
};

type DecodedAnswer = Pick<Ack, 'broken' | 'refused'> & {
  readonly owned: readonly { readonly run: RunId; readonly epoch: number; readonly tail: Tail }[];
  readonly signals: readonly SignalAck[];
  readonly shared: readonly SharedAck[];
};

export const decodeAnswer = (text: string, { broken: unsent, signalKeys, sharedKeys }: EncodedBatch): DecodedAnswer => {
  const { broken, owned, decisions, shared } = JSON.parse(text) as { [K in keyof Answer]: Answer[K] | null };
  const refused: Ack['refused'][number][] = [];
  const acquired: DecodedAnswer['owned'][number][] = [];
  for (const { run, isDeleted, owner, epoch, frames = 0, head = noTail.hash } of owned ?? [])
    if (epoch !== undefined) acquired.push({ run, epoch, tail: { no: frames - 1, hash: head } });
    else refused.push(isDeleted === true ? { run, owner: '', isDeleted } : { run, owner: nameOf(owner) ?? '' });
  const stale = (broken ?? []).map(({ run, first, frames, isOwned, owner }): Ack['broken'][number] =>
    isOwned && first !== null
      ? { run, detail: gapText(run, first, (frames ?? 0) - 1) }
      : { run, detail: lostText(run, nameOf(owner)), isLost: true },
  );
  return {
    refused,
    owned: acquired,
    broken: [...unsent, ...stale],
    signals: (decisions ?? []).map((decision, nth) => ({ key: signalKeys[nth]!, decision })),
    shared: (shared ?? []).map((isWritten, nth) => ({ key: sharedKeys[nth]!, isWritten })),
  };
};

export const nameOf = (owner: StoredRow | null | undefined): string | undefined => {
  const decoded = owner && decodeOwner(owner);
  return decoded ? describeOwner(decoded) : undefined;
};
