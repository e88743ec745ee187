// At the end, changes one stored record and asks the store which problems it finds.
import { openLogReader, describeOwner } from '#testing/adapters/stores';
import type { History } from './history.ts';
import type { World } from './world.ts';

type Row = { readonly no: number; readonly body: string; readonly hash: string };

export const damageDisk = (world: World): History['damage'] => {
  const { disk, random } = world;
  const runs = world.requests.map(({ run }) => run).filter((run) => disk.length(run) > 0);
  if (runs.length === 0) return null;
  const run = random.pick(runs);
  const no = random.int(0, disk.length(run) - 1);
  const what = random.pick(Object.keys(changes) as (keyof typeof changes)[]);
  const place = random.unit();
  disk.damage(run, no, (row) => changes[what](row, place));
  const reader = openLogReader(
    disk.rows(() => null),
    { isAlive: () => false, describe: describeOwner },
  );
  return { what, no, named: problemsFoundBy(() => reader.inspect(run).problems) };
};

const problemsFoundBy = (look: () => readonly string[]): readonly string[] => {
  try {
    return look();
  } catch (error) {
    return [String(error)];
  }
};

const changes = {
  'one byte changed': (row: Row, place: number) => ({ ...row, body: changeCharacter(row.body, place) }),
  'the hash changed': (row: Row, place: number) => ({ ...row, hash: changeCharacter(row.hash, place) }),
  'the end is missing': (row: Row, place: number) => ({
    ...row,
    body: row.body.slice(0, Math.floor(row.body.length * place)),
  }),
  'the record is missing': () => null,
} satisfies Record<string, (row: Row, place: number) => Row | null>;

const changeCharacter = (text: string, place: number): string => {
  const at = Math.floor(text.length * place);
  return `${text.slice(0, at)}${text[at] === '0' ? '1' : '0'}${text.slice(at + 1)}`;
};
