// What one connection notes of its commits, and what it sees of all that was noted in the workspace.
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { notedOf, openHeadsFolder } from './heads-folder.ts';
import type { HeadsFile } from './heads-folder.ts';
import { openOwnHeads } from './own-heads.ts';
import type { RunOwner } from './owner.ts';
import { settleHeads } from './settle-heads.ts';
import type { SettleHeads } from './settle-heads.ts';

export type HeadsNotes = {
  /** A transaction begins: what others have noted since is looked at when first asked for. */
  begin(): void;
  readonly note: (ends: ReadonlyMap<RunId, Tail>) => void;
  readonly noted: (run: RunId) => Tail | undefined;
  readonly settle: () => void;
  close(): void;
};

/** From here on a file is made small. */
const bytesMax = 256 * 1024;

export const openHeadsNotes = (
  ports: Omit<SettleHeads, 'folder' | 'own'> & { readonly self: RunOwner },
): HeadsNotes => {
  const folder = openHeadsFolder(ports.workspace);
  const own = openOwnHeads(ports.workspace, ports.self);
  let others: readonly HeadsFile[] | undefined;
  let tidyAt = bytesMax;

  const settle = (): void => {
    try {
      settleHeads({ ...ports, folder, own });
    } catch {
      // Files that stay say nothing that is not true.
    }
  };
  /** With very many runs even the newest lines are much: then those go whose frames the database holds for good. */
  const tidy = (): void => {
    try {
      own.compact();
    } catch {
      // It goes on in the longer file.
    }
    if (own.bytes() > bytesMax / 2) settle();
    tidyAt = Math.max(bytesMax, 2 * own.bytes());
  };

  return {
    begin: () => void (others = undefined),
    note(ends) {
      own.note(ends);
      if (own.bytes() > tidyAt) tidy();
    },
    noted(run) {
      others ??= folder.look(own.name);
      const ends = [...notedOf(others, run).ends, own.claims.ends.get(run)].filter((end) => end !== undefined);
      return ends.toSorted((one, other) => other.no - one.no)[0];
    },
    settle,
    close: () => own.close(),
  };
};
