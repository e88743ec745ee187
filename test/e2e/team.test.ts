// A team from a file in real processes: killed in the middle, resumed, inspected; and a plan that is saved to a file.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cloisterJson, cloister, newFolder, startCloister, value } from './driver.ts';

const agent = (name: string): string =>
  `---\ndescription: I am ${name}.\nusage: x\noutput: { format: text }\nmodels: rehearsal/small\n---\nYou are ${name}.\n`;

const plan = {
  tasks: [
    { id: 'facts', title: 'Find facts', description: 'Find facts.', assignee: 'ann' },
    { id: 'doubts', title: 'Find doubts', description: 'Find doubts.', assignee: 'bob' },
    { id: 'page', title: 'Write the page', description: 'Write it.', assignee: 'bob', dependsOn: ['facts', 'doubts'] },
  ],
};

/** The agent that looks for doubts never returns, unless there is a file `open`. */
const script = `import { existsSync } from 'node:fs';
const plan = ${JSON.stringify(plan)};
export default { lines: [
  { when: { agent: 'coordinator', text: '# The team' }, reply: JSON.stringify(plan) },
  { when: { agent: 'coordinator' }, reply: 'The whole answer.' },
  { when: { text: 'Find doubts' }, reply: () => ({ text: 'Two doubts.', delayMs: existsSync('open') ? 0 : 600000 }) },
  { when: { agent: 'ann' }, reply: 'Three facts.' },
  { reply: 'A page.' },
] };
`;

const teamFolder = (): string => {
  const folder = newFolder();
  const files = {
    'crew.yaml': 'agents: [./ann.ai, bob]\ncoordinator: { models: rehearsal/small }\n',
    'ann.ai': agent('ann'),
    'bob.ai': agent('bob'),
    'rehearsal.mjs': script,
    '.ai-agent.json': JSON.stringify({
      providers: { rehearsal: { type: 'rehearsal', script: './rehearsal.mjs', models: { small: {} } } },
    }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
};

describe.concurrent('a team from a file', () => {
  test('that is killed continues where it was, with the settings of its file and --parallel', async () => {
    const cwd = teamFolder();
    const { printed, kill, ended } = startCloister(['team', 'crew.yaml', 'Bees', '--parallel', '3'], { cwd });
    await printed(/task Find facts \(ann\) completed/u);
    kill('SIGKILL');
    await ended;
    writeFileSync(join(cwd, 'open'), '');
    // Another number of parallel tasks would be another team.
    const resumed = value(await cloister(['resume', 'last', '--json'], { cwd }));
    expect(resumed).toMatchObject({
      status: 'completed',
      output: 'The whole answer.',
      tasks: plan.tasks.map(({ id }) => ({ id, status: 'completed' })),
    });
    const shown = await cloisterJson(['show', 'last', '--graph', 'graph.svg'], { cwd });
    expect(shown.tasks).toHaveLength(3);
    expect(readFileSync(join(cwd, 'graph.svg'), 'utf8')).toMatch(/^<svg [^]*Write the page[^]*<\/svg>\n$/u);
  });

  test('has a plan that can be saved, and run from the file', async () => {
    const cwd = teamFolder();
    writeFileSync(join(cwd, 'open'), '');
    const planned = await cloister(['team', 'crew.yaml', 'Bees', '--plan-only', '--save-plan', 'plan.json'], { cwd });
    expect(planned.code).toBe(0);
    expect(JSON.parse(planned.stdout)).toEqual(JSON.parse(readFileSync(join(cwd, 'plan.json'), 'utf8')));
    const { code, stdout, stderr } = await cloister(['team', 'crew.yaml', '--from-plan', 'plan.json'], { cwd });
    expect([code, stdout]).toEqual([0, 'The whole answer.\n']);
    expect(stderr).toMatch(/Tasks \(3\): 3 done/u);
    expect(existsSync(join(cwd, '.cloister'))).toBe(true);
  });
});
