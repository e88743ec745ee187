// Agent files as other runtimes write them: what is optional, what has no effect, and what is read in place.
import { expect, test } from 'vitest';
import { ai, check, createFolders, load, problemLines } from './driver.ts';

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

test.each(["{% render 'style.md' %}", '{%- render "style.md" -%}', '${include:style.md}'])(
  '%s is an include',
  async (tag) => {
    const folders = createFolders({
      'solo.ai': ai('', `A ${tag} z`),
      'style.md': "Be {% render 'how.md' %}.",
      'how.md': 'brief',
    });
    const { agents, problems } = await load(folders, 'solo.ai');
    expect(problemLines({ problems })).toEqual([]);
    expect(agents[0]!.prompt).toBe('A Be brief. z\n');
  },
);

test('a rendered file outside the folder is refused, as an include is', async () => {
  const folders = createFolders({ 'team/solo.ai': ai('', "{% render '../secret.md' %}"), 'secret.md': 'swordfish' });
  const registry = await load(folders, 'team/solo.ai');
  expect(problemLines(registry)).toEqual([expect.stringContaining("no such file in the agent's folder")]);
  expect(JSON.stringify(registry.problems)).not.toContain('swordfish');
});

test('what a template language would fill in is a warning, also in an included file and a sub-agent', async () => {
  const folders = createFolders({
    'lead.ai': ai('agents: ./sub.ai', 'For {{ user }}: {{ user }} {% if x %}. ${DATE} {"a": {"b": 1}}'),
    'sub.ai': ai('', '${include:note.md}'),
    'note.md': '{{a}}',
  });
  const { warnings } = await check(folders, ['lead.ai']);
  expect(warnings.filter(({ code }) => code === 'template-as-text')).toEqual([
    {
      code: 'template-as-text',
      agent: 'lead',
      message: expect.stringContaining('lead.ai: {{ user }}, {% if x %} reaches'),
    },
    { code: 'template-as-text', agent: 'sub', message: expect.stringContaining('sub.ai: {{a}} reaches') },
  ]);
});
