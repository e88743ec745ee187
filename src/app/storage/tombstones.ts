// Makes and checks what is left of deleted runs.
import { omitUndefined } from '#base';
import type { Hash } from '#base';
import type { ArchiveRef, Tombstone } from '#contracts';
import { isSignedBy } from './operator-key.ts';
import type { OperatorKey } from './operator-key.ts';

/** How the log of a run ends. */
export type LogEnd = { readonly frames: number; readonly head: Hash | null };

type Deletion = {
  readonly deletedAt: number;
  readonly by: string;
  readonly why: string;
  readonly archive?: ArchiveRef | undefined;
};

export const makeTombstone = (
  { run, startedAt, endedAt }: Pick<Tombstone, 'run' | 'startedAt' | 'endedAt'>,
  { frames, head }: LogEnd,
  { archive, ...deletion }: Deletion,
  key: OperatorKey | null,
): Tombstone => {
  const facts = {
    format: 1,
    run,
    startedAt: startedAt === 0 ? null : startedAt,
    endedAt,
    frames,
    head,
    ...deletion,
    ...omitUndefined({ archive }),
    key: key?.publicKey ?? null,
  } as const;
  return { ...facts, signature: key?.sign('tombstone', facts) ?? null };
};

/** `foreign`: signed with another key than the expected one. `wrong`: the signature is not one of this tombstone. */
export const checkTombstone = (
  { signature, ...facts }: Tombstone,
  expectedKey: string | null,
): 'signed' | 'unsigned' | 'foreign' | 'wrong' => {
  const { key } = facts;
  if (key === null || signature === null) return 'unsigned';
  if (!isSignedBy(key, 'tombstone', facts, signature)) return 'wrong';
  return expectedKey === null || key === expectedKey ? 'signed' : 'foreign';
};
