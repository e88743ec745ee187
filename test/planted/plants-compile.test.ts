// A plant that does not compile proves nothing: what would fail may be the plant itself. Only with `npm run test:plants`.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { allPlants } from './all-plants.ts';
import type { NamedPlant } from './all-plants.ts';
import { applyEdits } from './apply-edits.ts';
import { triesAll } from './chosen.ts';
import { myFolder, removeMine, root } from './folders.ts';
import { probePoint } from './probes.ts';

afterAll(removeMine);

/** Plants that change different files are compiled together. */
const inGroups = (plants: readonly NamedPlant[]): readonly (readonly NamedPlant[])[] => {
  const groups: { files: Set<string>; plants: NamedPlant[] }[] = [];
  for (const plant of plants) {
    const files = plant.edits.map(({ probe }) => probePoint(probe).file);
    let group = groups.find((one) => files.every((file) => !one.files.has(file)));
    if (group === undefined) groups.push((group = { files: new Set(), plants: [] }));
    group.plants.push(plant);
    for (const file of files) group.files.add(file);
  }
  return groups.map((group) => group.plants);
};

/** What a plant leaves unused or unreached is no mistake of the plant. */
const harmless = new Set(['TS6133', 'TS6192', 'TS6196', 'TS6198', 'TS7027']);

/** `plant: what the compiler says`. */
const problemsOf = async (plants: readonly NamedPlant[]): Promise<readonly string[]> => {
  const folder = await mkdtemp(join(await myFolder(), 'compiled-'));
  try {
    await cp(join(root, 'src'), join(folder, 'src'), { recursive: true });
    await cp(join(root, 'package.json'), join(folder, 'package.json'));
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const config = { extends: join(root, 'tsconfig.json'), include: ['src'], exclude: [] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const byFile = new Map<string, string>();
    for (const { name, edits } of plants)
      for (const [file, text] of applyEdits(edits)) {
        byFile.set(file, name);
        await writeFile(join(folder, file), text);
      }
    const lines = (await compile(folder)).split('\n').filter((line) => /^\S+\(\d+,\d+\): error/u.test(line));
    return lines
      .filter((line) => !harmless.has(/error (TS\d+)/u.exec(line)![1]!))
      .map((line) => `${byFile.get(line.split('(')[0]!) ?? plants.map(({ name }) => name).join(' or ')}: ${line}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const compile = (folder: string): Promise<string> =>
  new Promise((resolve) => {
    const tsc = join(root, 'node_modules/.bin/tsc');
    execFile(tsc, ['--noEmit', '--pretty', 'false'], { cwd: folder, maxBuffer: 1e8 }, (_error, stdout) =>
      resolve(stdout),
    );
  });

test.runIf(triesAll)('every plant compiles', async () => {
  const problems: string[] = [];
  for (const group of inGroups(allPlants)) problems.push(...(await problemsOf(group)));
  expect(problems).toEqual([]);
});

test.runIf(triesAll)('a plant that does not compile is found', async () => {
  const plant = { name: 'wrong', edits: [{ probe: 'utf8-bytes', put: "'two'" }] };
  expect(await problemsOf([plant])).toEqual([expect.stringMatching(/^wrong: src\/base\/.*TS2322/u)]);
});
