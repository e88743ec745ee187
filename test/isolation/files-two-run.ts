// The two-run comparison over agents that are files: the same team is run repeatedly, each time with other private content in
// one of its cells, and every byte that the other cells' models, tools and servers received is compared. It does not use
// vitest, because a plain process runs it in planted copies.
import fc from 'fast-check';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { cellNames } from './agent-folder.ts';
import type { Cloister } from './fake-world.ts';
import { stdioServersFor } from './files-stdio-servers.ts';
import { watchTeam } from './files-run.ts';
import { anyState, shapeOf } from './files-vary.ts';
import type { Kind, Shape, State } from './files-vary.ts';
import { firstDifference } from './observer.ts';
import type { Difference, Observation } from './observer.ts';
import { newTemporaryFolder } from './temporary-folder.ts';
import { repeatCommand } from '../test-seed.ts';

export type Groups = {
  readonly groups: number;
  /** Runs of each group, all of which must observe the same. */
  readonly runs: number;
  /** What all groups have in common; the rest is random. */
  readonly shape?: Partial<Shape>;
  readonly seed?: number;
  readonly path?: string;
};
export type FilesReport = {
  readonly kind: Kind;
  readonly runs: number;
  readonly sights: number;
  readonly difference: (Difference & { readonly seed: number; readonly path: string }) | null;
};

/** Stops at the first difference. */
export const compareTeams = async (cloister: Cloister, kind: Kind, options: Groups): Promise<FilesReport> => {
  const folder = newTemporaryFolder();
  const seen = { runs: 0, sights: 0 };
  let difference: Difference | null = null;
  const watch = async (shape: Shape, state: State): Promise<readonly Observation[]> => {
    // What a process receives includes its folder, and modules are loaded once per path.
    const root = join(folder, kind === 'stdio' ? 'team' : String(seen.runs));
    const stdioServers = kind === 'stdio' ? stdioServersFor(root, cellsWithServer(shape), shape, state) : undefined;
    const observations = await watchTeam(cloister, root, shape, state, stdioServers);
    seen.runs++;
    seen.sights += observations.length;
    return observations;
  };
  const { seed, path, runs, shape: fixed, groups: numRuns } = options;
  const group = fc.array(anyState, { minLength: runs, maxLength: runs });
  const property = fc.asyncProperty(shapeOf(kind, fixed), group, async (shape, states) => {
    const [first, ...others] = states;
    const observations = await watch(shape, first!);
    for (const state of others) difference ??= firstDifference(observations, await watch(shape, state));
    return difference === null;
  });
  try {
    const details = await fc.check(property, {
      numRuns,
      endOnFailure: true,
      ...(seed !== undefined && { seed }),
      ...(path !== undefined && { path }),
    });
    const at = { seed: details.seed, path: details.counterexamplePath ?? '' };
    if (difference === null && details.failed)
      throw new Error(`A run failed. ${repeatHint(at)}`, { cause: details.errorInstance });
    return { kind, ...seen, difference: difference === null ? null : { ...(difference as Difference), ...at } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** The varied cell and one other: processes are expensive. */
const cellsWithServer = ({ varied }: Shape) => [varied, cellNames.find((cell) => cell !== varied)!];

/** The message of a failing comparison. */
export const filesDifferenceText = ({ kind, difference }: FilesReport): string =>
  difference === null
    ? 'no difference'
    : [
        `${kind}: two runs differ in "${difference.sink}" at character ${difference.offset}`,
        `  one:   …${JSON.stringify(difference.one)}`,
        `  other: …${JSON.stringify(difference.other)}`,
        repeatHint(difference),
      ].join('\n');

const repeatHint = (at: { readonly seed: number; readonly path: string }): string =>
  `Repeat: ${repeatCommand({ ...at, file: 'test/isolation/files-two-run.test.ts' })}`;
