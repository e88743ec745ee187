// What `--help` of an agent file shows: every key, its effective value, and where that comes from.
import { describe, expect, test } from 'vitest';
import { frontmatterFields } from '../core/registry/frontmatter-fields.ts';
import { agentHelp } from '../../src/app/agents/agent-help.ts';
import { ai, check, createFolders, load, problemLines } from './driver.ts';

const lead = ai(
  'models: mine/small\nmaxToolTurns: 7\nagents:\n  - helper\n  - { agent: writer, output: { format: json } }',
);

const files = {
  'lead.ai': lead,
  'helper.ai': ai(),
  'writer.ai': ai(),
  '.ai-agent.json': {
    providers: { mine: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: '${MINE_KEY}' } },
    defaults: { temperature: 0.5, maxRetries: 1, maxToolTurns: 3, budget: { tokens: 1_000 } },
  },
};

/** The line of a key in the template. */
const lineOf = (template: string, key: string): string =>
  template.split('\n').find((line) => new RegExp(`^\\s*(?:# )?${key}:`, 'u').test(line)) ?? '';

test('help shows the agent’s description, and a missing key does not prevent it', async () => {
  const help = await agentHelp('lead.ai', createFolders(files));
  expect(help).toMatchObject({ name: 'lead', description: 'Does it.', usage: 'it' });
});

test('help and check have the tool name as written and as models see it', async () => {
  const folders = createFolders({ ...files, 'helper.ai': ai('toolName: help.er'), 'a.b.ai': ai() });
  const written = { toolName: 'help.er', modelToolName: 'help_er' };
  expect(await agentHelp('helper.ai', folders)).toMatchObject(written);
  expect(await agentHelp('a.b.ai', folders)).toMatchObject({ toolName: 'a.b', modelToolName: 'a_b' });
  expect((await check(folders, ['helper.ai', 'a.b.ai'])).agents).toMatchObject([
    { name: 'a.b', toolName: 'a.b', modelToolName: 'a_b' },
    { name: 'helper', ...written },
  ]);
});

describe('the template', () => {
  test('has every key', async () => {
    const { template } = await agentHelp('lead.ai', createFolders(files));
    for (const { key } of frontmatterFields.filter(({ aliasOf }) => aliasOf === undefined))
      expect(lineOf(template, key)).not.toBe('');
  });

  test('shows the effective value, and whether it comes from this file, the config, or the default', async () => {
    const folders = createFolders(files);
    const { template } = await agentHelp('lead.ai', folders);
    const config = `from ${folders.path('.ai-agent.json')}`;
    expect(lineOf(template, 'maxToolTurns')).toMatch(/maxToolTurns: 7\s+# this file/u);
    expect(template).toMatch(/models:.*# this file/u);
    expect(lineOf(template, 'toolTimeout')).toMatch(/toolTimeout: 60000\s+# default/u);
    for (const [key, value] of [
      ['temperature', '0.5'],
      ['maxRetries', '1'],
      ['tokens', '1000'],
    ] as const) {
      const at = template.split('\n').findIndex((line) => line.trimStart().startsWith(`${key}: ${value}`));
      expect(at, key).toBeGreaterThan(0);
      // The source is shown behind the value, or above it where there is no room.
      const nearby = template
        .split('\n')
        .slice(at - 1, at + 1)
        .join(' ');
      expect(nearby, key).toContain(config.slice(-30));
    }
  });

  test('loads when pasted above a prompt, with the same meaning', async () => {
    const folders = createFolders(files, { env: { MINE_KEY: 'a-key-that-is-long' } });
    const { template } = await agentHelp('lead.ai', folders);
    folders.write({ 'pasted.ai': `${template}\nDo it.\n` });
    const { agents, problems } = await load(folders, 'lead.ai', 'pasted.ai');
    expect(problemLines({ problems })).toEqual([]);
    const [one, other] = agents.map(
      ({
        description,
        usage,
        resources: { models, tools, settings },
        signature: { output, input },
        caps: { budget },
        permissions: { grants },
        children: { agents: below },
      }) => ({
        description,
        usage,
        models,
        tools,
        output,
        input,
        settings,
        budget,
        grants,
        below: below.map(({ digest }) => digest),
      }),
    );
    expect(other).toEqual(one);
    expect(agents[1]!.caps.limits).toMatchObject(agents[0]!.caps.limits);
  });

  test('carries the values along when pasted where there is no config', async () => {
    const { template } = await agentHelp('lead.ai', createFolders(files));
    const bare = createFolders({
      'pasted.ai': `#!/usr/bin/env cloister\n${template}Do it.\n`,
      'helper.ai': ai(),
      'writer.ai': ai(),
    });
    const registry = await load(bare, 'pasted.ai');
    expect(problemLines(registry)).toEqual([expect.stringContaining('No provider "mine" is configured')]);
    expect(registry.agents[0]).toMatchObject({
      resources: { settings: { temperature: 0.5 } },
      caps: { budget: { tokens: 1_000 } },
    });
    expect(registry.agents[0]!.caps.limits).toMatchObject({ maxToolTurns: 7, maxRetries: 1 });
  });
});

test.each([
  ['an invalid file', 'broken.ai', 'agent_file_invalid', /broken\.ai:5 tols: .*Did you mean "tools"/u],
  ['a missing file', 'gone.ai', 'agent_file_invalid', /gone\.ai No such file or folder/u],
])('help for %s reports what is wrong', async (_, path, code, words) => {
  const error = await agentHelp(path, createFolders({ 'broken.ai': ai('tols: x') })).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code, message: expect.stringMatching(words) });
});
