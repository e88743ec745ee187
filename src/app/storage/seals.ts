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

/** What to append to the file with these contents: a line. Throws `options_invalid` if that is not a file of seals. */
export const makeSeal = async (
  file: string,
  { store, at, key }: { readonly store: Store; readonly at: number; readonly key: OperatorKey | null },
): Promise<string> => {
  const before = parseSeals(file);
  const known = headsIn(before);
  const runs: Record<string, readonly [number, string]> = {};
  for (const { run } of await store.list()) {
    const head = await headOfRun(store, run);
    if (head !== null && known.get(run)?.at(-1)?.head !== head.head) runs[run] = [head.frames, head.head];
  }
  const entries = await store.readWorkspaceLog();
  const facts = {
    format: 1,
    at,
    records: entries.length,
    log: hashesOfRecords(entries).at(-1)!,
    runs,
    previous: before.at(-1)?.hash ?? zeroHash,
    key: key?.publicKey ?? null,
  } as const;
  const signature = key?.sign('seal', facts) ?? null;
  const line = `${JSON.stringify({ ...facts, signature } satisfies Seal)}\n`;
  return file === '' || file.endsWith('\n') ? line : `\n${line}`;
};

/** `expectedKey`: the operator's public key; null: signatures are checked with the keys in the file, and that is said. */
export const checkSeals = async (file: string, store: Store, expectedKey: string | null): Promise<SealReport> => {
  const seals = parseSeals(file);
  const problems: SealProblem[] = [];
  const add = (where: string, message: string): void => void problems.push({ where, message });
  checkSignatures(seals, expectedKey, add);
  const entries = await store.readWorkspaceLog();
  const hashes = hashesOfRecords(entries);
  for (const [nth, { seal }] of seals.entries())
    if (entries.length < seal.records) add(`seal ${nth + 1}`, 'the workspace log has lost records since then');
    else if (hashes[seal.records] !== seal.log) add(`seal ${nth + 1}`, 'the workspace log was rewritten since then');
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

/** How every seal begins, and so does one of which a crash or a full disk has left only the beginning. */
const sealStart = '{"format":1,"at":';

/**
 * Beginnings of seals are passed over: nobody was told that they were written. A seal of which somebody has left only the beginning
 * is missed by the one after it.
 */
const parseSeals = (file: string): readonly ParsedSeal[] =>
  file.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const seal = parseSeal(line);
    if (seal !== undefined) return { seal, hash: sha256(line) };
    if (line.startsWith(sealStart) || sealStart.startsWith(line)) return [];
    throw new CloisterError('options_invalid', `Line ${index + 1} is not a seal that \`cloister seal\` has written.`);
  });

const parseSeal = (line: string): Seal | undefined => {
  try {
    const seal = JSON.parse(line) as Seal;
    const isSeal = seal.format === 1 && typeof seal.records === 'number' && typeof seal.runs === 'object';
    return isSeal ? seal : undefined;
  } catch {
    return undefined;
  }
};

/** All heads of each run, the newest one last. Older ones count, too: a log that was rewritten before the newest seal fits that one. */
const headsIn = (seals: readonly ParsedSeal[]): ReadonlyMap<RunId, readonly LogHead[]> => {
  const heads = new Map<RunId, LogHead[]>();
  for (const { seal } of seals)
    for (const [run, [frames, head]] of Object.entries(seal.runs) as [RunId, [number, Hash]][])
      if (!heads.get(run)?.push({ frames, head })) heads.set(run, [{ frames, head }]);
  return heads;
};

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

/** The hashes of the sealed prefixes follow from the records, not from the hashes that are stored beside them. */
const checkLog = async (store: Store, run: RunId, sealed: readonly LogHead[], add: AddProblem): Promise<void> => {
  const where = `run ${run}`;
  const most = Math.max(...sealed.map(({ frames }) => frames));
  try {
    const bodies = await store.readBodies(run);
    if (bodies.length < most) return add(where, `it had ${most} records, and has ${bodies.length} now`);
    const open = new Map<number, Set<Hash>>();
    for (const { frames, head } of sealed) open.set(frames, (open.get(frames) ?? new Set()).add(head));
    let hash: Hash = zeroHash;
    for (const [no, body] of bodies.slice(0, most).entries()) {
      hash = sha256(hash + body);
      const heads = open.get(no + 1);
      if (heads !== undefined && (heads.size > 1 || !heads.has(hash))) return add(where, 'its records were rewritten');
    }
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    const isGone = error.code === 'run_unknown';
    add(where, isGone ? 'it is gone, and no tombstone says that it was deleted' : error.message);
  }
};

const checkDeletion = (
  tombstone: Tombstone,
  sealed: readonly LogHead[],
  expectedKey: string | null,
  add: AddProblem,
): void => {
  const where = `run ${tombstone.run}`;
  const state = checkTombstone(tombstone, expectedKey);
  if (state === 'wrong') add(where, 'the signature of its tombstone is not one of what that says');
  if (state === 'foreign') add(where, 'its tombstone is signed with another key');
  if (state === 'unsigned' && expectedKey !== null) add(where, 'its tombstone is not signed');
  const most = Math.max(...sealed.map(({ frames }) => frames));
  if (tombstone.frames < most) add(where, `it had ${most} records; its tombstone says ${tombstone.frames}`);
  if (sealed.some(({ frames, head }) => tombstone.frames === frames && tombstone.head !== head))
    add(where, 'its tombstone is about another log');
};

export const tombstonesIn = (entries: readonly WorkspaceEntry[]): ReadonlyMap<RunId, Tombstone> => {
  const found = new Map<RunId, Tombstone>();
  for (const { record } of entries) {
    if (record.type === 'tombstone') found.set(record.tombstone.run, record.tombstone);
    if (record.type === 'import') found.delete(record.run);
  }
  return found;
};

/** The chain over the workspace log, as stores make it: the hash after each number of records. */
const hashesOfRecords = (entries: readonly WorkspaceEntry[]): readonly Hash[] => {
  const hashes: Hash[] = [zeroHash];
  for (const entry of entries) hashes.push(sha256(hashes.at(-1)! + JSON.stringify(entry)));
  return hashes;
};

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
