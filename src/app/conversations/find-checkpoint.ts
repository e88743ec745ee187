// Finds a checkpoint by its id or its exported file, and reads the frames of its cut.
import { readFile } from 'node:fs/promises';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Checkpoint, Frame, Store, RunLog } from '#contracts';
import type { WorkspaceState } from './workspace-state.ts';

const formatKnown = 1;

/** Throws `checkpoint_unknown` or `checkpoint_invalid`. */
export const findCheckpoint = async (idOrPath: string, { checkpoints }: WorkspaceState): Promise<Checkpoint> => {
  const file = /[/\\]|\.json$/u.test(idOrPath) ? await readCheckpointFile(idOrPath) : undefined;
  const found = checkpoints.get(file?.id ?? idOrPath);
  if (file === undefined) {
    if (found === undefined) throw new CloisterError('checkpoint_unknown', `"${idOrPath.slice(0, 80)}".`);
    return checkFormat(found);
  }
  const same =
    found !== undefined && found.run === file.run && found.frames === file.frames && found.hash === file.hash;
  if (same) return checkFormat(found);
  throw invalid(
    found === undefined
      ? `${idOrPath} belongs to another workspace, or its checkpoint was removed from this one.`
      : `${idOrPath} differs from the checkpoint with that id in this workspace.`,
  );
};

const checkFormat = (checkpoint: Checkpoint): Checkpoint => {
  const { format } = checkpoint as { readonly format: unknown };
  if (format === formatKnown) return checkpoint;
  throw invalid(`It has format ${String(format)}; this version of Cloister supports format ${formatKnown}.`);
};

const readCheckpointFile = async (path: string): Promise<Checkpoint> => {
  const text = await readFile(path, 'utf8').catch(() => {
    throw new CloisterError('checkpoint_unknown', `No such file: ${path}.`);
  });
  const parsed = parse(text);
  if (typeof parsed?.id !== 'string' || parsed.format === undefined)
    throw invalid(`${path} is damaged, or is not a checkpoint.`);
  return checkFormat(parsed as Checkpoint);
};

const parse = (text: string): Partial<Checkpoint> | null => {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
};

/** The frames of the cut. Throws `checkpoint_invalid` when the log has changed since the checkpoint was taken. */
export const readCut = async (store: Store, { run, frames, hash }: Checkpoint): Promise<readonly Frame[]> => {
  try {
    const cut = await store.hashPrefix(run, frames);
    if (cut.hash !== hash)
      throw invalid(`Frame ${frames - 1} of run ${run} has changed since the checkpoint was taken.`);
    // probe: checkpoint-read-frames
    return (await store.read(run)).slice(0, frames);
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    if (error.code === 'run_unknown') throw invalid(`Run ${run} is not in this workspace.`);
    if (error.code === 'store_damaged') throw invalid(error.failure.detail ?? `Run ${run} is damaged.`);
    throw error;
  }
};

const invalid = (detail: string): CloisterError => new CloisterError('checkpoint_invalid', detail);

// A new run id whose log is acquired when needed, and released if the run is not started.
export class OwnedRun {
  readonly run: RunId;
  readonly #store: Store;
  #log: RunLog | undefined;

  constructor(store: Store, run: RunId) {
    this.#store = store;
    this.run = run;
  }

  async acquire(): Promise<void> {
    this.#log ??= await this.#store.acquireRun(this.run);
  }

  /** The caller must close the log from here on. */
  transfer(): RunLog {
    const log = this.#log;
    if (log === undefined) throw new Error('The run was not acquired.');
    this.#log = undefined;
    return log;
  }

  async release(): Promise<void> {
    await this.#log?.close();
    this.#log = undefined;
  }
}
