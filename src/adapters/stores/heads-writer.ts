// Writes the heads of one connection's commits, and reads what all stores of the workspace have recorded.
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { findAcknowledgedHeads, openHeadsFolder } from './heads-folder.ts';
import type { HeadsFile } from './heads-folder.ts';
import { openOwnHeads } from './own-heads.ts';
import type { RunOwner } from './owner.ts';
import { pruneHeads } from './prune-heads.ts';
import type { PruneHeadsPorts } from './prune-heads.ts';

type HeadsWriter = {
  /** Called when a transaction begins. Heads of other stores are read again when first needed. */
  begin(): void;
  readonly append: (tails: ReadonlyMap<RunId, Tail>) => void;
  readonly newestTail: (run: RunId) => Tail | undefined;
  readonly prune: () => void;
  close(): void;
};

/** Past this size the file is compacted. */
const bytesMax = 256 * 1024;

export const openHeadsWriter = (
  ports: Omit<PruneHeadsPorts, 'folder' | 'own'> & { readonly self: RunOwner },
): HeadsWriter => {
  const folder = openHeadsFolder(ports.workspace);
  const own = openOwnHeads(ports.workspace, ports.self);
  let others: readonly HeadsFile[] | undefined;
  let tidyAt = bytesMax;

  const settle = (): void => {
    try {
      pruneHeads({ ...ports, folder, own });
    } catch {
      // A file that stays makes no false claim.
    }
  };
  /** With very many runs even the newest lines are too long; then lines are removed whose frames are safely in the database. */
  const tidy = (): void => {
    try {
      own.compact();
    } catch {
      // Writing continues in the longer file.
    }
    if (own.bytes() > bytesMax / 2) settle();
    tidyAt = Math.max(bytesMax, 2 * own.bytes());
  };

  return {
    begin: () => void (others = undefined),
    append(tails) {
      own.append(tails);
      if (own.bytes() > tidyAt) tidy();
    },
    newestTail(run) {
      others ??= folder.readAll(own.name);
      const tails = [...findAcknowledgedHeads(others, run).tails, own.claims.tails.get(run)].filter(
        (tail) => tail !== undefined,
      );
      return tails.toSorted((one, other) => other.no - one.no)[0];
    },
    prune: settle,
    close: () => own.close(),
  };
};
