// Files that somebody names on the command line, and that cannot be read or written.
import { expect, test } from 'vitest';
import type { Cloister } from '#contracts';
import { cli, scene } from './driver.ts';
import type { FileWorld } from './file-world.ts';

const storage = {
  export: async () => new Uint8Array(3),
  seal: async () => JSON.stringify({ runs: {}, records: 0, key: null }),
} as Partial<Cloister['storage']> as Cloister['storage'];

const full = async (): Promise<never> => {
  throw new Error('ENOSPC: no space left on device, write');
};

const command = (line: string, files: Partial<FileWorld>) =>
  cli(line.split(' '), scene(), { behaviour: { storage, files } });

test.each([
  ['runs import a.gz', 'the archive a.gz cannot be read: no such file: a.gz'],
  ['audit --against s.seal', 'the file s.seal cannot be read: no such file: s.seal'],
  ['seal s.seal', 'the file s.seal cannot be read: no such file: s.seal'],
])('a file that cannot be read is named, and is no bug: %s', async (line, message) => {
  const { code, stderr } = await command(line, {});
  expect([code, stderr]).toEqual([4, expect.stringMatching(`^error: ${message}\ntry: check the path`)]);
});

test.each(['runs export last --to out', 'seal out', 'show last --html out'])(
  'a file that cannot be written is named before any work, and so is a full disk: %s',
  async (line) => {
    const refused = await command(line, { whyNotWritable: async () => 'its folder does not exist', readText: full });
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringMatching(/^error: out cannot be written: its folder does not exist\ntry: choose another file/u),
    ]);
    const writes = { writeText: full, writeBytes: full, appendText: full, readText: async () => '' };
    const failed = await command(line, writes);
    expect([failed.code, failed.stderr]).toEqual([
      4,
      expect.stringMatching(/^error: out cannot be written: ENOSPC: no space left on device, write\ntry: choose/u),
    ]);
  },
);
