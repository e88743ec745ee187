// What one batch does to the tables, inside the transaction of the caller.
import type { RunId } from '#base';
import type { Frame } from '#contracts';
import { appendWorkspaceRecord, workspaceLogName } from './workspace-log.ts';
import type { WorkspaceLogTable } from './workspace-log.ts';
import { noTail, recordHash } from './chain.ts';
import type { Tail } from './chain.ts';
import type { Ack, Item, WorkspaceRecordAck } from './messages.ts';
import type { RunOwner, Owners } from './owner.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import type { RunFacts } from './run-facts.ts';

/** Reads see what the same transaction has written. */
export type Tables = WorkspaceLogTable & {
  /** The last frame of a run, looked up; undefined when it has none. */
  tail(run: RunId): Tail | undefined;
  frame(run: RunId, no: number, body: string, hash: string): void;
  /** Kept once; a kept blob that was damaged is healed. */
  blob(ref: string, bytes: Uint8Array<ArrayBuffer>): void;
  owner(run: RunId): RunOwner | undefined;
  /** Replaces whoever had it. */
  own(run: RunId, owner: RunOwner): void;
  /** Only when this instance has it. */
  release(run: RunId, instance: string): void;
  /** Of every run that this instance has. */
  releaseAll(instance: string): void;
  /** Adds what new frames say to the entry in the list of runs (see `addFacts`), and sets where the log ends now. */
  run(run: RunId, facts: RunFacts, end: Tail): void;
};

export type AppliedBatch = {
  readonly tails: Map<RunId, Tail>;
  readonly frames: Frame[];
  readonly released: RunId[];
  readonly refused: Ack['refused'][number][];
  readonly broken: Ack['broken'][number][];
  readonly pages: WorkspaceRecordAck[];
};

export type CommittedState = {
  /** The ends of runs as last committed; what is not here is looked up. */
  readonly tails: ReadonlyMap<RunId, Tail>;
  readonly self: RunOwner;
  readonly owners: Owners;
  /** The newest frame of a run that was ever acknowledged, as far as that is noted apart from the tables. */
  noted?(run: RunId): Tail | undefined;
};

export const applyItems = (tables: Tables, items: readonly Item[], known: CommittedState): AppliedBatch => {
  const applied: AppliedBatch = { tails: new Map(), frames: [], released: [], refused: [], broken: [], pages: [] };
  const broken = new Set<RunId>();
  for (const item of items) {
    switch (item.do) {
      case 'own':
        ownRun(tables, item, known, applied);
        break;
      case 'frame': {
        if (broken.has(item.run)) break;
        const cached = applied.tails.get(item.run) ?? known.tails.get(item.run);
        const tail = cached ?? tables.tail(item.run) ?? noTail;
        const detail = doesNotFollow(item, tail, cached === undefined ? known.noted?.(item.run) : undefined);
        // probe: frame-follows
        if (detail === undefined) appendFrame(tables, item, tail, applied);
        else {
          broken.add(item.run);
          applied.broken.push({ run: item.run, detail });
        }
        break;
      }
      case 'blob':
        tables.blob(item.ref, item.bytes);
        break;
      case 'release':
        tables.release(item.run, known.self.instance);
        applied.released.push(item.run);
        break;
      case 'page': {
        const { end, ...page } = appendWorkspaceRecord(
          tables,
          item,
          applied.tails.get(workspaceLogName) ?? known.noted?.(workspaceLogName),
        );
        applied.pages.push(page);
        if (end !== undefined) applied.tails.set(workspaceLogName, end);
        break;
      }
    }
  }
  updateRuns(tables, applied);
  return applied;
};

type OwnItem = Extract<Item, { do: 'own' }>;

const ownRun = (
  tables: Tables,
  { run, takeOver = false }: OwnItem,
  { self, owners }: CommittedState,
  applied: AppliedBatch,
): void => {
  const owner = tables.owner(run);
  const givenUp = takeOver && owner !== undefined && owners.elsewhere?.(owner) === true;
  // A row of this very store is left over from a release that failed: the caller knows it does not own the run.
  // probe: run-owner-lives
  if (owner !== undefined && !givenUp && owner.instance !== self.instance && owners.lives(owner)) {
    applied.refused.push({ run, owner: owners.inWords(owner) });
    return;
  }
  tables.own(run, self);
};

type FrameItem = Extract<Item, { do: 'frame' }>;

/** Why it cannot come next. A run that has lost its end is not continued as if that had never been. */
const doesNotFollow = ({ run, no }: FrameItem, tail: Tail, noted: Tail | undefined): string | undefined => {
  if (no !== tail.no + 1) return `Frame ${no} of run ${run} does not follow frame ${tail.no}, the last one kept.`;
  if (noted === undefined || noted.no < tail.no || (noted.no === tail.no && noted.hash === tail.hash)) return undefined;
  return `Frame ${no} of run ${run} does not follow frame ${noted.no}, the last one acknowledged.`;
};

const appendFrame = (tables: Tables, item: FrameItem, tail: Tail, applied: AppliedBatch): void => {
  const hash = recordHash(tail.hash, item.body);
  tables.frame(item.run, item.no, item.body, hash);
  applied.tails.set(item.run, { no: item.no, hash });
  applied.frames.push(JSON.parse(item.body) as Frame);
};

const updateRuns = (tables: Tables, applied: AppliedBatch): void => {
  const facts = new Map<RunId, RunFacts>();
  for (const frame of applied.frames) facts.set(frame.run, foldFacts(facts.get(frame.run) ?? noFacts, frame));
  for (const [run, more] of facts) tables.run(run, more, applied.tails.get(run) ?? noTail);
};
