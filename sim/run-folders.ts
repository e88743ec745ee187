// The folders of runs on the simulated disk. A folder exists once something was written to it, and a run's folders go together.
import type { CellId, RunId } from '#base';
import type { CellFolder, CellFolders } from '#contracts';
import { memoryCellFolders } from '#adapters/cell-folders';

export class RunFolders implements CellFolders {
  readonly #runs = new Map<RunId, CellFolders>();

  open(run: RunId, cell: CellId): CellFolder {
    const look = (): CellFolder => (this.#runs.get(run) ?? memoryCellFolders()).open(run, cell);
    return {
      write: (path, bytes) => {
        const folders = this.#runs.get(run) ?? memoryCellFolders();
        this.#runs.set(run, folders);
        return folders.open(run, cell).write(path, bytes);
      },
      read: (path, from, length) => look().read(path, from, length),
      list: () => look().list(),
    };
  }

  has(run: RunId): boolean {
    return this.#runs.has(run);
  }

  remove(run: RunId): void {
    this.#runs.delete(run);
  }
}
