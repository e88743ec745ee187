// What `--help` of an agent file shows: every key, the value that holds, and where that comes from.
import { describe, expect, test } from 'vitest';
import { fields } from '#core/registry';
import { agentHelp } from '../../src/app/agents/agent-help.ts';
import { ai, ground, load, told } from './driver.ts';

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

test('it has the agent’s words, and a key that is missing does not stand in the way', async () => {
  const help = await agentHelp('lead.ai', ground(files));
  expect(help).toMatchObject({ name: 'lead', description: 'Does it.', usage: 'it' });
});

describe('the template', () => {
  test('has every key', async () => {
    const { template } = await agentHelp('lead.ai', ground(files));
    for (const { key } of fields.filter(({ aliasOf }) => aliasOf === undefined))
      expect(lineOf(template, key)).not.toBe('');
  });

  test('says what holds, and whether that is from this file, from the config, or the default', async () => {
    const place = ground(files);
    const { template } = await agentHelp('lead.ai', place);
    const config = `from ${place.path('.ai-agent.json')}`;
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
      // The place stands behind the value, or above it where there is no room.
      const nearby = template
        .split('\n')
        .slice(at - 1, at + 1)
        .join(' ');
      expect(nearby, key).toContain(config.slice(-30));
    }
  });

  test('pasted above a prompt, it loads, and means the same', async () => {
    const place = ground(files, { env: { MINE_KEY: 'a-key-that-is-long' } });
    const { template } = await agentHelp('lead.ai', place);
    place.write({ 'pasted.ai': `${template}\nDo it.\n` });
    const { agents, problems } = await load(place, 'lead.ai', 'pasted.ai');
    expect(told({ problems })).toEqual([]);
    const [one, other] = agents.map(
      ({ description, usage, models, tools, output, input, settings, budget, grants, agents: below }) => ({
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
    expect(agents[1]!.limits).toMatchObject(agents[0]!.limits);
  });

  test('pasted where there is no config, it brings the values along', async () => {
    const { template } = await agentHelp('lead.ai', ground(files));
    const bare = ground({
      'pasted.ai': `#!/usr/bin/env cloister\n${template}Do it.\n`,
      'helper.ai': ai(),
      'writer.ai': ai(),
    });
    const registry = await load(bare, 'pasted.ai');
    expect(told(registry)).toEqual([expect.stringContaining('No provider "mine" is configured')]);
    expect(registry.agents[0]).toMatchObject({ settings: { temperature: 0.5 }, budget: { tokens: 1_000 } });
    expect(registry.agents[0]!.limits).toMatchObject({ maxToolTurns: 7, maxRetries: 1 });
  });
});

test.each([
  ['a file that is wrong', 'broken.ai', 'agent_file_invalid', /broken\.ai:5 tols: .*Did you mean "tools"/u],
  ['a file that is not there', 'gone.ai', 'agent_file_invalid', /gone\.ai There is no such file or folder/u],
])('of %s there is no help but what is wrong', async (_, path, code, words) => {
  const error = await agentHelp(path, ground({ 'broken.ai': ai('tols: x') })).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code, message: expect.stringMatching(words) });
});
