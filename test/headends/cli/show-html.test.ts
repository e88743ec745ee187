// `cloister show --html`: writes one file, and says how large it is and what it lacks.
import { expect, test } from 'vitest';
import { cli, runId, scene } from './driver.ts';

const show = async (args: readonly string[], leftOut: readonly string[] = []) => {
  const written: [string, string][] = [];
  const result = await cli(['show', 'last', ...args], scene(), {
    behaviour: {
      pageOfRun: (run) => ({ html: `<!doctype html>${run}`, leftOut }),
      files: {
        writeText: async (path, text) => void written.push([path, text]),
        whyNotWritable: async (path) => (path.startsWith('/root') ? 'it is a folder' : null),
      },
    },
  });
  return { ...result, written };
};

test('writes the page of the run', async () => {
  const { code, stdout, stderr, written } = await show(['--html', 'run.html']);
  expect([code, stderr, written]).toEqual([0, '', [['run.html', `<!doctype html>${runId}`]]]);
  expect(stdout).toContain(`Run ${runId} written to run.html: `);
  const json = await show(['--html', 'run.html', '--json']);
  expect(JSON.parse(json.stdout)).toMatchObject({ run: runId, file: 'run.html', leftOut: [] });
});

test('says what was left out', async () => {
  const { stderr } = await show(
    ['--html', 'run.html'],
    ['/explain?cell=a', '/explain?cell=b', '/transcript?full=true'],
  );
  expect(stderr).toContain('explanations of 2 cells, transcript?full=true');
});

test('refuses a file that cannot be written, and other views at the same time', async () => {
  const refused = await show(['--html', '/root/x']);
  expect([refused.code === 0, refused.stderr, refused.written]).toEqual([
    false,
    expect.stringContaining('it is a folder'),
    [],
  ]);
  for (const other of ['--window', '--mail', '--transcript', '--graph=x.svg'])
    expect([other, (await show(['--html', 'x.html', other])).code]).toEqual([other, 4]);
});
