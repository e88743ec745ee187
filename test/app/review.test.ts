// What a file elsewhere may bring along, which code checking runs, what trying a server shows, and what defaults must not contain.
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { agentHelp } from '../../src/app/agents/agent-help.ts';
import { ai, check, createFolders, load, open, openError, problemLines } from './driver.ts';

describe('a config beside a file that another file names', () => {
  const beside = (folder: string) => ({
    [`${folder}/x.ai`]: ai('tools: evil'),
    [`${folder}/.ai-agent.json`]: { mcpServers: { evil: { command: process.execPath, env: { T: '${EVIL_TOKEN}' } } } },
    [`${folder}/.ai-agent.env`]: 'EVIL_TOKEN=from-beside-the-file\n',
  });
  const unknown = expect.stringMatching(/x\.ai:5 tools: No tool or server is named "evil"/u);

  test.each([
    ['outside the folder of the file that was named', 'team/lead.ai', '../evil/x.ai', '../evil'],
    ['outside the folder that was named', 'team', '../evil/x.ai', '../evil'],
    ['beside the working folder', 'lead.ai', '../evil/x.ai', '../evil'],
    ['in a hidden folder', 'lead.ai', '.hidden/x.ai', '.hidden'],
    ['below a hidden folder', 'lead.ai', '.hidden/deep/x.ai', '.hidden/deep'],
  ])('is not trusted %s', async (_, named, reference, folder) => {
    const inTeam = named.startsWith('team');
    // A working folder apart from the team's: everything below the working folder is trusted.
    const folders = createFolders({
      [inTeam ? '../team/lead.ai' : 'lead.ai']: ai(`agents: [${reference}]`),
      ...beside(folder),
    });
    const path = inTeam ? `../${named}` : named;
    expect(problemLines(await load(folders, path))).toEqual([unknown]);
    expect(problemLines(await check(folders, [path]))).toEqual([unknown]);
    expect((await openError(folders, [path])).message).toContain('No tool or server is named "evil"');
  });

  test('gives no variables to the operator’s servers', async () => {
    const folders = createFolders({
      'lead.ai': ai('agents: [../evil/x.ai]'),
      ...beside('../evil'),
      '.ai-agent.json': { mcpServers: { evil: { command: process.execPath, env: { T: '${EVIL_TOKEN}' } } } },
    });
    expect(problemLines(await load(folders, 'lead.ai'))).toEqual([
      expect.stringMatching(/x\.ai:5 tools: Missing: .*EVIL_TOKEN/su),
    ]);
  });

  test.each([
    ['in a sub-folder of the folder that was named', '../team', '../team/lead.ai', 'sub/x.ai', '../team/sub'],
    ['in a sub-folder of the file that was named', '../team/lead.ai', '../team/lead.ai', 'a/b/x.ai', '../team/a/b'],
    ['below the working folder', 'a/lead.ai', 'a/lead.ai', '../b/x.ai', 'b'],
    ['in a hidden folder that was named itself', '.mine', '.mine/lead.ai', 'x.ai', '.mine'],
  ])('is trusted %s', async (_, named, lead, reference, folder) => {
    const folders = createFolders({ [lead]: ai(`agents: [${reference}]`), ...beside(folder) });
    expect(problemLines(await load(folders, named))).toEqual([]);
  });

  test('is trusted in a folder listed in the operator’s config', async () => {
    const folders = createFolders({
      'lead.ai': ai('agents: [x]'),
      ...beside('../shared'),
      '.ai-agent.json': { agents: ['../shared'] },
    });
    expect(problemLines(await load(folders, 'lead.ai'))).toEqual([]);
  });
});

describe('the operator’s modules', () => {
  /** Each module leaves a file behind when it is run. */
  const writing = (rest: string) =>
    `import { writeFileSync } from 'node:fs';\nwriteFileSync(new URL('./ran', import.meta.url), '');\n${rest}\n`;
  const kinds = {
    'a module of tools': () =>
      createFolders({
        'lead.ai': ai('tools: mine'),
        'lib/m.mjs': writing(
          `export default [{ name: 'find', description: 'Finds.', inputSchema: { type: 'object' }, execute: () => '' }];`,
        ),
        '.ai-agent.json': { mcpServers: { mine: { module: './lib/m.mjs' } } },
      }),
    'a rehearsal script': () =>
      createFolders({
        'lead.ai': ai('models: mine/any'),
        'lib/m.mjs': writing(`export default [{ reply: 'Done.' }];`),
        '.ai-agent.json': { providers: { mine: { type: 'rehearsal', script: './lib/m.mjs' } } },
      }),
  };

  describe.each(Object.entries(kinds))('%s', (_, make) => {
    test('is not run by check or help', async () => {
      const folders = make();
      expect(problemLines(await check(folders, ['lead.ai']))).toEqual([]);
      expect(problemLines(await check(folders, ['lead.ai'], { syntaxOnly: true }))).toEqual([]);
      expect(await agentHelp('lead.ai', folders)).toMatchObject({ name: 'lead' });
      expect(existsSync(folders.path('lib/ran'))).toBe(false);
    });

    test('is run by check with connect', async () => {
      const folders = make();
      expect(problemLines(await check(folders, ['lead.ai'], { connect: true }))).toEqual([]);
      expect(existsSync(folders.path('lib/ran'))).toBe(true);
    });

    test('is run when agents are opened', async () => {
      const folders = make();
      await open(folders, ['lead.ai']);
      expect(existsSync(folders.path('lib/ran'))).toBe(true);
    });
  });

  test.each([
    ['tools', ai('tools: mine'), { mcpServers: { mine: { module: './gone.mjs' } } }],
    ['models', ai('models: mine/any'), { providers: { mine: { type: 'rehearsal', script: './gone.mjs' } } }],
  ])('that do not exist are reported by check: %s', async (key, text, config) => {
    const folders = createFolders({ 'lead.ai': text, '.ai-agent.json': config });
    const { ok, problems } = await check(folders, ['lead.ai']);
    expect(ok).toBe(false);
    expect(problemLines({ problems })).toEqual([
      expect.stringMatching(new RegExp(`^lead\\.ai:5 ${key}: .*gone\\.mjs`, 'su')),
    ]);
  });
});

describe('a server that prints a secret and dies', () => {
  const secret = 'tok-q7Zr2Kx9Wm4Bv8Tn3Hs6';
  const make = () =>
    createFolders(
      {
        'lead.ai': ai('tools: leaky'),
        '.ai-agent.json': {
          mcpServers: {
            leaky: {
              command: process.execPath,
              args: ['-e', 'console.error(`the token is`, process.env.TOKEN); process.exit(1)'],
              env: { TOKEN: '${LEAKY_TOKEN}' },
            },
          },
        },
      },
      { env: { LEAKY_TOKEN: secret } },
    );

  test('is reported by check without the secret', async () => {
    const report = await check(make(), ['lead.ai'], { connect: true });
    expect(problemLines(report)).toEqual([expect.stringMatching(/^lead\.ai tools: .*leaky/su)]);
    expect(problemLines(report)[0]).toContain('[redacted]');
    expect(JSON.stringify(report)).not.toContain(secret);
  });

  test('is reported by preconnect without the secret', async () => {
    const error = await openError(make(), ['lead.ai'], { preconnect: true });
    expect(error.message).toContain('[redacted]');
    expect([error.message, error.stack, JSON.stringify(error.failure)].join()).not.toContain(secret);
  });
});

test.each<[string, any]>([
  ['description', 'One for all.'],
  ['usage', 'it'],
  ['toolName', 'x'],
  ['input', { format: 'text' }],
  ['output', { format: 'text' }],
  ['tools', ['read_file']],
  ['agents', ['helper']],
  ['grants', []],
])('defaults must not contain `%s`, and no agent gets it from there', async (key, value) => {
  const folders = createFolders({
    'lead.ai': ai(),
    'helper.ai': ai(),
    '.ai-agent.json': { defaults: { [key]: value } },
  });
  const { problems, agents } = await load(folders, 'lead.ai');
  expect(problemLines({ problems })).toContainEqual(
    expect.stringMatching(new RegExp(`^\\.ai-agent\\.json defaults\\.${key}: .*belongs to a single agent`, 'u')),
  );
  expect(agents).toMatchObject([
    { description: 'Does it.', usage: 'it', resources: { builtins: [] }, children: { agents: [] } },
  ]);
  expect((await openError(folders, ['lead.ai'])).message).toContain(`defaults.${key}`);
});
