// Agent files as other runtimes write them: what is optional, what has no effect, and what is read in place.
import { expect, test } from 'vitest';
import { check, createFolders, load, problemLines } from './driver.ts';

test('a file with only a description answers in Markdown, and its usage is its description', async () => {
  const folders = createFolders({
    'solo.ai': '---\ndescription: Finds facts about a city.\ntools:\n---\nFind facts.\n',
  });
  const { agents, problems } = await load(folders, 'solo.ai');
  expect(problemLines({ problems })).toEqual([]);
  expect(agents[0]).toMatchObject({
    usage: 'Finds facts about a city.',
    signature: { output: { format: 'markdown' } },
    definition: { tools: [] },
  });
});

test('a key that only tunes another runtime is a warning with its line', async () => {
  const folders = createFolders({ 'solo.ai': '---\ndescription: Finds facts.\ncache: 1h\n---\nFind facts.\n' });
  const report = await check(folders, ['solo.ai']);
  expect(report.ok).toBe(true);
  expect(report.warnings).toEqual([
    {
      code: 'key-ignored',
      agent: 'solo',
      message: expect.stringMatching(/^solo\.ai:3 `cache`: This key has no effect\./u),
    },
  ]);
});
