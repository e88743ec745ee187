// Seals: the heads of all logs, outside the workspace, and what they say about it later.
//
//   seal-outside. Whoever can write to the workspace can make logs with consistent hashes. The heads in a file elsewhere cannot be
//       made to fit them.
//   seal-appended. A seal holds the logs that are new or longer since the seal before it in the file, and a hash over that one, so that
//       nothing in the file can be changed or left out in the middle.
import { CloisterError, sha256, zeroHash } from '#base';
import type { Hash, RunId } from '#base';
import type { SealProblem, SealReport, Store, Tombstone, WorkspaceEntry } from '#contracts';
import { isSignedBy } from './operator-key.ts';
import type { OperatorKey } from './operator-key.ts';
import { checkTombstone } from './tombstones.ts';

type LogHead = { readonly frames: number; readonly head: Hash };

/** `records`: of the workspace log. `previous`: the hash of the seal before it. */
type Seal = {
  readonly format: 1;
  readonly at: number;
  readonly records: number;
  readonly log: Hash;
  readonly runs: Readonly<Record<string, readonly [frames: number, head: string]>>;
  readonly previous: Hash;
  readonly key: string | null;
  readonly signature: string | null;
};

/** The line to append to the file with these contents. Throws `options_invalid` if that is not a file of seals. */
export const makeSeal = async (
  file: string,
  { store, at, key }: { readonly store: Store; readonly at: number; readonly key: OperatorKey | null },
): Promise<string> => {
  const before = parseSeals(file);
  const known = headsIn(before);
  const runs: Record<string, readonly [number, string]> = {};
  for (const { run } of await store.list()) {
    const head = await headOfRun(store, run);
    if (head !== null && known.get(run)?.head !== head.head) runs[run] = [head.frames, head.head];
  }
  const entries = await store.readWorkspaceLog();
  const facts = {
    format: 1,
    at,
    records: entries.length,
    log: hashOfRecords(entries),
    runs,
    previous: before.at(-1)?.hash ?? zeroHash,
    key: key?.publicKey ?? null,
  } as const;
  const signature = key?.sign('seal', facts) ?? null;
  return `${JSON.stringify({ ...facts, signature } satisfies Seal)}\n`;
};

/** `expectedKey`: the operator's public key; null: signatures are checked with the keys in the file, and that is said. */
export const checkSeals = async (file: string, store: Store, expectedKey: string | null): Promise<SealReport> => {
  const seals = parseSeals(file);
  const problems: SealProblem[] = [];
  const add = (where: string, message: string): void => void problems.push({ where, message });
  checkSignatures(seals, expectedKey, add);
  const entries = await store.readWorkspaceLog();
  for (const [nth, { seal }] of seals.entries())
    if (entries.length < seal.records) add(`seal ${nth + 1}`, 'the workspace log has lost records since then');
    else if (hashOfRecords(entries.slice(0, seal.records)) !== seal.log)
      add(`seal ${nth + 1}`, 'the workspace log was rewritten since then');
  const tombstones = tombstonesIn(entries);
  const heads = headsIn(seals);
  for (const [run, sealed] of heads) {
    const tombstone = tombstones.get(run);
    if (tombstone === undefined) await checkLog(store, run, sealed, add);
    else checkDeletion(tombstone, sealed, expectedKey, add);
  }
  const keys = [...new Set(seals.flatMap(({ seal }) => seal.key ?? []))];
  return { ok: problems.length === 0, seals: seals.length, runs: heads.size, keys, problems };
};

type ParsedSeal = { readonly seal: Seal; readonly hash: Hash };
type AddProblem = (where: string, message: string) => void;

const parseSeals = (file: string): readonly ParsedSeal[] =>
  file
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line, index) => {
      try {
        const seal = JSON.parse(line) as Seal;
        if (seal.format === 1 && typeof seal.records === 'number' && typeof seal.runs === 'object')
          return { seal, hash: sha256(line) };
      } catch {
        // Reported below.
      }
      throw new CloisterError('options_invalid', `Line ${index + 1} is not a seal that \`cloister seal\` has written.`);
    });

/** The newest head of each run. */
const headsIn = (seals: readonly ParsedSeal[]): ReadonlyMap<RunId, LogHead> =>
  new Map(
    seals.flatMap(({ seal }) =>
      Object.entries(seal.runs).map(([run, [frames, head]]) => [run as RunId, { frames, head: head as Hash }] as const),
    ),
  );

const checkSignatures = (seals: readonly ParsedSeal[], expectedKey: string | null, add: AddProblem): void => {
  let previous: Hash = zeroHash;
  for (const [nth, { seal, hash }] of seals.entries()) {
    const where = `seal ${nth + 1}`;
    const { signature, ...facts } = seal;
    if (facts.previous !== previous) add(where, 'the seal before it is missing or was changed');
    previous = hash;
    if (facts.key === null || signature === null) {
      if (expectedKey !== null) add(where, 'it is not signed');
    } else if (expectedKey !== null && facts.key !== expectedKey) add(where, 'it is signed with another key');
    else if (!isSignedBy(facts.key, 'seal', facts, signature)) add(where, 'its signature is not one of what it says');
  }
};

/** The hash of the sealed prefix follows from the records, not from the hashes that are stored beside them. */
const checkLog = async (store: Store, run: RunId, { frames, head }: LogHead, add: AddProblem): Promise<void> => {
  const where = `run ${run}`;
  try {
    const bodies = await store.readBodies(run);
    if (bodies.length < frames) return add(where, `it had ${frames} records, and has ${bodies.length} now`);
    const hash = bodies.slice(0, frames).reduce<Hash>((before, body) => sha256(before + body), zeroHash);
    if (hash !== head) add(where, 'its records were rewritten');
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    const isGone = error.code === 'run_unknown';
    add(where, isGone ? 'it is gone, and no tombstone says that it was deleted' : error.message);
  }
};

const checkDeletion = (
  tombstone: Tombstone,
  { frames, head }: LogHead,
  expectedKey: string | null,
  add: AddProblem,
): void => {
  const where = `run ${tombstone.run}`;
  const state = checkTombstone(tombstone, expectedKey);
  if (state === 'wrong') add(where, 'the signature of its tombstone is not one of what that says');
  if (state === 'foreign') add(where, 'its tombstone is signed with another key');
  if (state === 'unsigned' && expectedKey !== null) add(where, 'its tombstone is not signed');
  if (tombstone.frames < frames) add(where, `it had ${frames} records; its tombstone says ${tombstone.frames}`);
  if (tombstone.frames === frames && tombstone.head !== head) add(where, 'its tombstone is about another log');
};

export const tombstonesIn = (entries: readonly WorkspaceEntry[]): ReadonlyMap<RunId, Tombstone> => {
  const found = new Map<RunId, Tombstone>();
  for (const { record } of entries) {
    if (record.type === 'tombstone') found.set(record.tombstone.run, record.tombstone);
    if (record.type === 'import') found.delete(record.run);
  }
  return found;
};

/** The chain over the workspace log, as stores make it. */
const hashOfRecords = (entries: readonly WorkspaceEntry[]): Hash =>
  entries.reduce<Hash>((before, entry) => sha256(before + JSON.stringify(entry)), zeroHash);

const headOfRun = async (store: Store, run: RunId): Promise<LogHead | null> => {
  try {
    const { frames, hash } = await store.hashPrefix(run);
    return { frames, head: hash };
  } catch (error) {
    // Nothing is left of it that could be sealed.
    if (error instanceof CloisterError && error.code === 'run_unknown') return null;
    throw error;
  }
};
