// Regression cases for what the deep lane has found. They need strace, as the lane does.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildSubject, repo } from '../../deep/build-subject.ts';
import type { Subject } from '../../deep/build-subject.ts';
import { tryFault } from '../../deep/faults.ts';
import { checkMoments, traceRun } from '../../deep/power-cuts.ts';
import { setUpStrace, thisMachine } from '../../tools/deep-setup.ts';

/** A test installs nothing. */
const setup = setUpStrace({ ...thisMachine(), root: false });
const why = setup.ready ? '' : ` (skipped: ${setup.why})`;

const scratch = join(repo, 'test/.planted', `deep-kept-${process.pid}`);
const folders: string[] = [];
let subject: Subject;
beforeAll(async () => {
  if (setup.ready) subject = await buildSubject(scratch);
});
afterAll(() => {
  for (const folder of [scratch, ...folders]) rmSync(folder, { recursive: true, force: true });
});

const paths = ['.', 'workspace', 'workspace/cloister.db', 'workspace/cloister.db-journal'];

describe.skipIf(!setup.ready)(`a process that dies while it creates its workspace${why}`, () => {
  // The first journalled transaction writes the schema, the second changes the journal mode.
  test.each(['fsync/4', 'fsync/5', 'unlink/1', 'fsync/9', 'unlink/2'])(
    'at %s leaves a usable workspace',
    async (place) => {
      const folder = mkdtempSync(join(tmpdir(), 'cloister-kept-'));
      folders.push(folder);
      const [call = '', nth] = place.split('/');
      const point = { call, nth: Number(nth), paths };
      const tried = await tryFault({ subject, killed: '' }, folder, { stage: 'run', point, fault: 'SIGKILL' });
      expect(tried).toEqual({ end: 'killed', problems: [] });
    },
  );
});

test.skipIf(!setup.ready)(`every acknowledged frame and file was synced before${why}`, async () => {
  const { problems, acks, effects } = checkMoments(await traceRun(subject));
  expect(problems).toEqual([]);
  expect(acks).toBeGreaterThan(8);
  expect(effects).toBeGreaterThan(10);
});
