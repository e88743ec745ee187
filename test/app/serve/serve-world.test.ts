// What `cloister serve` is made of: agents from files, tokens from a file, a real port.
import { onTestFinished, expect, test } from 'vitest';
import type { ServeOptions } from '#headends/cli';
import { createServeWorld } from '../../../src/app/serve-world.ts';
import { ai, ground } from '../driver.ts';
import type { Files } from '../driver.ts';

const config = {
  providers: { rehearsal: { type: 'rehearsal', script: './script.yaml' } },
  defaults: { models: ['rehearsal/any'] },
};

const serving = (files: Files = {}) => {
  const { path } = ground({ 'lead.ai': ai(), '.ai-agent.json': config, 'script.yaml': '- reply: Done.\n', ...files });
  const options = ({ agents = ['lead.ai'], tokenFile, ...more }: Partial<ServeOptions>): ServeOptions => ({
    agents: agents.map(path),
    port: 0,
    stdio: false,
    tokenFile: tokenFile === undefined || tokenFile === null ? null : path(tokenFile),
    host: '127.0.0.1',
    expose: false,
    hosts: [],
    origins: [],
    clients: { system: false, tools: false, activity: false },
    places: {},
    workspace: path('kept'),
    memory: false,
    config: null,
    ...more,
  });
  const serve = async (more: Partial<ServeOptions> = {}) => {
    const served = await createServeWorld.serve(options(more), () => undefined);
    onTestFinished(async () => {
      await served.stop(0);
      await served.close();
    });
    return served;
  };
  return { serve, path };
};

test('a workspace that cannot be written serves nobody, and is named; in memory none is needed', async () => {
  const { serve, path } = serving();
  const workspace = path('lead.ai/beneath-a-file');
  await expect(serve({ workspace })).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining(`${workspace}: ENOTDIR`),
  });
  expect((await serve({ workspace, memory: true })).url).toMatch(/^http/u);
});

test('a workspace that can be written is served again and again', async () => {
  const { serve } = serving();
  const [one, other] = [await serve(), await serve()];
  expect([one.url, other.url]).toEqual([expect.any(String), expect.any(String)]);
});

test('agents are served in the order in which they were given, a team too', async () => {
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

test('what is wrong with a token file is told with its name, the line, one spelling of the place, and the agents that there are', async () => {
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
      `  ${file}:3 tokens[1].allowance: It bounds nothing. Give tokens or usd, or leave it out.`,
      `  ${file}:4 tokens[2].agents: It may ask nobody.`,
    ),
  );
  await expect(serve({ tokenFile: 'unread.json' })).rejects.toMatchObject(
    telling(`${path('unread.json')}:1 tokens[0].sha256: Missing`),
  );
});

test('a server that others can reach, or that nobody can ask, starts and says so', async () => {
  const entry = { name: 'ann', sha256, expires: '2020-01-01T00:00:00Z' };
  const { serve, path } = serving({
    'past.json': { tokens: [entry] },
    'mixed.json': { tokens: [entry, { name: 'ben', sha256: 'cd'.repeat(32) }] },
  });
  const told = async (more: Partial<ServeOptions>) => (await serve({ memory: true, ...more })).notes;
  expect(await told({})).toEqual([]);
  expect(await told({ tokenFile: 'mixed.json' })).toEqual([]);
  expect(await told({ tokenFile: 'past.json' })).toEqual([
    `All tokens of ${path('past.json')} have expired: nobody can ask.`,
  ]);
  expect(await told({ host: '0.0.0.0', expose: true })).toEqual([
    expect.stringMatching(/^Other machines can reach it: it listens on 0\.0\.0\.0, port \d+, without TLS\./u),
  ]);
  expect(await told({ host: '0.0.0.0', expose: true, port: null, tokenFile: 'past.json' })).toEqual([]);
});
