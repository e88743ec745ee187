// A checkpoint by its id, or by the file that it was exported to; and the frames of its cut, as they were then.
import { readFile } from 'node:fs/promises';
import { CloisterError } from '#base';
import type { Checkpoint, Frame, Store } from '#contracts';
import type { WorkspaceState } from './workspace-state.ts';

const formatKnown = 1;

/** Throws `checkpoint_unknown` or `checkpoint_invalid`. */
export const findCheckpoint = async (asked: string, { checkpoints }: WorkspaceState): Promise<Checkpoint> => {
  const file = /[/\\]|\.json$/u.test(asked) ? await readFileOf(asked) : undefined;
  const found = checkpoints.get(file?.id ?? asked);
  if (file === undefined) {
    if (found === undefined) throw new CloisterError('checkpoint_unknown', `"${asked.slice(0, 80)}".`);
    return known(found);
  }
  const same =
    found !== undefined && found.run === file.run && found.frames === file.frames && found.hash === file.hash;
  if (same) return known(found);
  throw invalid(
    found === undefined
      ? `${asked} is of another workspace, or was forgotten here.`
      : `${asked} is not what was written here under that id.`,
  );
};

const known = (checkpoint: Checkpoint): Checkpoint => {
  const { format } = checkpoint as { readonly format: unknown };
  if (format === formatKnown) return checkpoint;
  throw invalid(`It has format ${String(format)}; this version of Cloister knows format ${formatKnown}.`);
};

const readFileOf = async (path: string): Promise<Checkpoint> => {
  const text = await readFile(path, 'utf8').catch(() => {
    throw new CloisterError('checkpoint_unknown', `There is no file ${path}.`);
  });
  const parsed = parse(text);
  if (typeof parsed?.id !== 'string' || parsed.format === undefined)
    throw invalid(`${path} is damaged, or is no checkpoint.`);
  return known(parsed as Checkpoint);
};

const parse = (text: string): Partial<Checkpoint> | null => {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
};

/** The frames of the cut. Throws `checkpoint_invalid` when the log is not what it was when the cut was made. */
export const readCut = async (store: Store, { run, frames, hash }: Checkpoint): Promise<readonly Frame[]> => {
  try {
    const cut = await store.hashPrefix(run, frames);
    if (cut.hash !== hash) throw invalid(`Frame ${frames - 1} of run ${run} is not what it was when the cut was made.`);
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
