// Describes a case in one line: its cells, and what the varied cell did in each run.
import type { CellId } from '#base';
import type { Frame } from '#contracts';
import type { PairResult } from './compare-pair.ts';
import type { ObservedRun } from './observed-run.ts';
import { isVariedAt } from './isolation-setup.ts';

export const variedName = ({ variation }: PairResult): string =>
  variation.place ?? `every "${variation.path.replaceAll('/', ' › ')}"`;

export const describeCase = (compared: PairResult): string => {
  const { runs, variation } = compared;
  const [one, other] = runs.map((run) => describeOperations(run, compared));
  const places = [...new Set(runs.flatMap(({ cells }) => cells.map(({ planned }) => planned.place)))];
  const how = variation.place === null ? ', with other instructions and settings' : '';
  return `${places.length} ${places.length === 1 ? 'cell' : 'cells'} (${places.join(', ')}); ${variedName(compared)}${how}: ${one} | ${other}`;
};

/** The operations of the varied cells, in order. */
const describeOperations = ({ cells: seats, run }: ObservedRun, { variation }: PairResult): string => {
  const cells = new Set(
    seats.filter(({ planned, path }) => isVariedAt(variation, planned.place, path)).map(({ cell }) => cell),
  );
  return cellOperations(run.frames, cells);
};

/** The operations of these cells, in order. */
export const cellOperations = (frames: readonly Frame[], cells: ReadonlySet<CellId>): string => {
  const names = frames.flatMap(({ cell, record }) =>
    (record.type === 'begin' || record.type === 'post') && cells.has(cell) ? [shortName(record.name)] : [],
  );
  return names.length === 0 ? 'nothing' : names.join(' → ');
};

/** `model:openai/x` becomes `model`, `tool:search` becomes `search`, `agent:deep` becomes `deep`. */
const shortName = (name: string): string => {
  const at = name.indexOf(':');
  return name.startsWith('model:')
    ? 'model'
    : name.startsWith('tools:')
      ? `list ${name.slice(at + 1)}`
      : name.slice(at + 1);
};
