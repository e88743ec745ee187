// The parts of `cloister serve`: agents from files, tokens from a file, a real port.
import { onTestFinished, expect, test } from 'vitest';
import type { ServeOptions } from '#headends/cli';
import { serveWorld } from '../../../src/app/serve-world.ts';
import { ai, createFolders } from '../driver.ts';
import type { Files } from '../driver.ts';

const config = {
  providers: { rehearsal: { type: 'rehearsal', script: './script.yaml' } },
  defaults: { models: ['rehearsal/any'] },
};

const serving = (files: Files = {}) => {
  const { path } = createFolders({
    'lead.ai': ai(),
    '.ai-agent.json': config,
    'script.yaml': '- reply: Done.\n',
    ...files,
  });
  const options = ({ agents = ['lead.ai'], tokenFile, ...more }: Partial<ServeOptions>): ServeOptions => ({
    agents: agents.map(path),
    port: 0,
    stdio: false,
    tokenFile: tokenFile === undefined || tokenFile === null ? null : path(tokenFile),
    host: '127.0.0.1',
    expose: false,
    hosts: [],
    origins: [],
    clients: { system: false, tools: false, activity: false, compat: false },
    slots: {},
    workspace: path('kept'),
    memory: false,
    config: null,
    ...more,
  });
  const serve = async (more: Partial<ServeOptions> = {}) => {
    const served = await serveWorld.serve(options(more), () => undefined);
    onTestFinished(async () => {
      await served.stop(0);
      await served.close();
    });
    return served;
  };
  return { serve, path };
};

test('a workspace that cannot be written is refused by name; in memory none is needed', async () => {
  const { serve, path } = serving();
  const workspace = path('lead.ai/beneath-a-file');
  await expect(serve({ workspace })).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining(`${workspace}: ENOTDIR`),
  });
  expect((await serve({ workspace, memory: true })).url).toMatch(/^http/u);
});

test('a writable workspace can be served repeatedly', async () => {
  const { serve } = serving();
  const [one, other] = [await serve(), await serve()];
  expect([one.url, other.url]).toEqual([expect.any(String), expect.any(String)]);
});

test('agents are served in the given order, including a team', async () => {
  const { serve } = serving({
    'second.ai': ai(),
    'more/a.ai': ai(),
    'more/b.ai': ai(),
    'crew.yaml': 'description: A crew.\nagents: [lead.ai]\ncoordinator: { models: [rehearsal/any] }\n',
  });
  const { agents } = await serve({ agents: ['second.ai', 'more', 'lead.ai', 'crew.yaml'], memory: true });
  expect(agents.map(({ name }) => name)).toEqual(['second', 'a', 'b', 'lead', 'crew']);
});

const sha256 = 'ab'.repeat(32);

test('a problem in a token file is reported with file name, line, one spelling of the location, and the available agents', async () => {
  const entries = [
    { name: 'ann', sha256, agents: ['leed'] },
    { name: 'ben', sha256: 'cd'.repeat(32), allowance: { per: 'day' } },
    { name: 'cid', sha256: 'ef'.repeat(32), agents: [] },
  ];
  const listed = `{ "tokens": [\n${entries.map((entry) => JSON.stringify(entry)).join(',\n')}\n] }`;
  const { serve, path } = serving({ 'tokens.json': listed, 'unread.json': '{ "tokens": [{ "name": "ann" }] }' });
  const file = path('tokens.json');
  const telling = (...lines: string[]) => ({
    code: 'tokens_invalid',
    message: expect.stringContaining(lines.join('\n')),
  });
  await expect(serve({ tokenFile: 'tokens.json' })).rejects.toMatchObject(
    telling(
      `${file}:2 tokens[0].agents: "leed" is not one of: lead. Did you mean "lead"?`,
      `  ${file}:3 tokens[1].allowance: No limit is set. Set tokens or usd, or omit the allowance.`,
      `  ${file}:4 tokens[2].agents: The list is empty.`,
    ),
  );
  await expect(serve({ tokenFile: 'unread.json' })).rejects.toMatchObject(
    telling(`${path('unread.json')}:1 tokens[0].sha256: Missing`),
  );
});

test('a server that other machines can reach, or that no client can use, starts and says so', async () => {
  const entry = { name: 'ann', sha256, expires: '2020-01-01T00:00:00Z' };
  const { serve, path } = serving({
    'past.json': { tokens: [entry] },
    'mixed.json': { tokens: [entry, { name: 'ben', sha256: 'cd'.repeat(32) }] },
  });
  const notesFor = async (more: Partial<ServeOptions>) => (await serve({ memory: true, ...more })).notes;
  expect(await notesFor({})).toEqual([]);
  expect(await notesFor({ tokenFile: 'mixed.json' })).toEqual([]);
  expect(await notesFor({ tokenFile: 'past.json' })).toEqual([
    `All tokens in ${path('past.json')} have expired: no client can connect.`,
  ]);
  expect(await notesFor({ host: '0.0.0.0', expose: true })).toEqual([
    expect.stringMatching(
      /^The server is reachable from other machines: it listens on 0\.0\.0\.0, port \d+, without TLS\./u,
    ),
  ]);
  expect(await notesFor({ host: '0.0.0.0', expose: true, port: null, tokenFile: 'past.json' })).toEqual([]);
});
