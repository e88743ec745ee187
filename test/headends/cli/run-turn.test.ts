import { expect, test } from 'vitest';
import type { Cloister } from '#contracts';
import { cli, runId, scene } from './driver.ts';

type Asked = readonly [how: 'run' | 'turn', ...given: Parameters<Cloister['runTurn']>];

const texts: Readonly<Record<string, string>> = {
  'a.md': 'It rains.',
  'b.md': 'It snows.\n',
  'dir/plan.PNG': 'picture',
};

const run = async (...args: readonly string[]) => {
  const asked: Asked[] = [];
  const told = await cli(['run', 'lead', ...args], scene(), {
    behaviour: {
      onRun: (agent, ...more) => asked.push(['run', agent as string, ...more]),
      onTurn: (...given) => asked.push(['turn', ...given]),
      files: {
        readText: async (path) => {
          if (texts[path] === undefined) throw new Error(`no such file: ${path}`);
          return texts[path];
        },
        readBytes: async (path) => {
          if (texts[path] === undefined) throw new Error(`no such file: ${path}`);
          return Buffer.from(texts[path]);
        },
      },
    },
  });
  return { ...told, asked };
};

test('a run with a conversation is a turn in it; without one it is a plain run', async () => {
  expect((await run('Go')).asked).toEqual([['run', 'lead', 'Go', { budget: {} }]]);
  expect((await run('Go', '--conversation', 'trip')).asked).toEqual([
    ['turn', 'lead', 'Go', { budget: {}, conversation: 'trip' }],
  ]);
  expect((await run('Go', '--conversation', 'scout/trip', '--budget-tokens', '5')).asked).toEqual([
    ['turn', 'lead', 'Go', { budget: { tokens: 5 }, conversation: { agent: 'scout', name: 'trip' } }],
  ]);
});

test('files are sent along with the type that their name says; one that cannot be read stops the command', async () => {
  const { asked } = await run('Go', '--attach', 'a.md', '--attach', 'dir/plan.PNG');
  expect(asked).toEqual([
    [
      'run',
      'lead',
      'Go',
      {
        budget: {},
        attachments: [
          { mediaType: 'text/markdown', data: Buffer.from('It rains.'), name: 'a.md' },
          { mediaType: 'image/png', data: Buffer.from('picture'), name: 'plan.PNG' },
        ],
      },
    ],
  ]);
  const { code, stderr } = await run('Go', '--attach', 'none.png');
  expect([code, stderr]).toEqual([
    4,
    expect.stringContaining('error: the file none.png cannot be read: no such file: none.png'),
  ]);
});

test('a question alone goes to the default agent; a possible agent name is one', async () => {
  const asked: (readonly [unknown, unknown])[] = [];
  const ask = (args: readonly string[], defaultAgent?: string) =>
    cli(['run', ...args], scene(), {
      behaviour: {
        onRun: (agent, input) => asked.push([agent, input]),
        files: { stdin: async () => 'From a pipe.' },
        ...(defaultAgent === undefined ? {} : { defaultAgent }),
      },
    });
  for (const args of [['Which is 1/2?'], [], ['-']]) expect((await ask(args, 'lead')).code).toBe(0);
  expect((await ask(['lead'], 'scout')).code).toBe(0);
  expect(asked).toEqual([
    ['lead', 'Which is 1/2?'],
    ['lead', 'From a pipe.'],
    ['lead', 'From a pipe.'],
    ['lead', 'From a pipe.'],
  ]);
  expect((await ask(['Which is 1/2?'])).stderr).toMatch(/missing required argument 'agent'/u);
});

test('context is read from files, in order', async () => {
  const context = ['--context', 'a.md', '--context', 'b.md'];
  const known = { budget: {}, context: ['It rains.', 'It snows.\n'] };
  expect((await run('Go', ...context)).asked).toEqual([['run', 'lead', 'Go', known]]);
  expect((await run('Go', ...context, '--conversation', 'trip')).asked).toEqual([
    ['turn', 'lead', 'Go', { ...known, conversation: 'trip' }],
  ]);
});

test('context that is not text is refused before anything starts, with the option that sends files', async () => {
  for (const bytes of [Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff), Buffer.from('half\0text')]) {
    const asked: unknown[] = [];
    const { code, stderr, opened } = await cli(['run', 'lead', 'Go', '--context', 'red.png'], scene(), {
      behaviour: { onRun: (...given) => asked.push(given), files: { readBytes: async () => bytes } },
    });
    expect({ code, asked, opened }).toEqual({ code: 4, asked: [], opened: [] });
    expect(stderr).toBe(
      'error: red.png is not text, so it cannot be context\ntry: send it as a file: --attach red.png\n',
    );
  }
});

test('a file that cannot be read is named, and nothing is started', async () => {
  const { code, stderr, asked, opened } = await run('Go', '--context', 'a.md', '--context', 'c.md');
  expect({ code, asked, opened }).toEqual({ code: 4, asked: [], opened: [] });
  expect(stderr).toBe(
    'error: the context in c.md cannot be read: no such file: c.md\ntry: check the path of --context\n',
  );
});

test('a turn is shown like a run, with the command that shows the conversation', async () => {
  const { stdout, stderr } = await run('Go', '--conversation', 'trip');
  expect(stdout).toBe('SQLite for rows,\nDuckDB for columns.\n');
  expect(stderr).toContain('Next steps:\n  npx cloister conversations show lead/trip\n');
  const json = JSON.parse((await run('Go', '--conversation', 'trip', '--json')).stdout) as object;
  expect(json).toMatchObject({ run: runId, conversation: { agent: 'lead', name: 'trip' } });
});
