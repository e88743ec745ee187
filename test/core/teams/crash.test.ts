// A team that is crashed after every record goes on as if nothing had happened.
import { expect, test } from 'vitest';
import { defineAgent, defineTeam } from 'cloister';
import { expectResumable, rehearse } from 'cloister/testkit';
import type { Script } from 'cloister/testkit';

const plan = {
  tasks: [
    { id: 'a', title: 'A', description: 'Do a.', assignee: 'ann' },
    { id: 'b', title: 'B', description: 'Do b.', assignee: 'bob', dependsOn: ['a'] },
    { id: 'c', title: 'C', description: 'Do c.' },
    { id: 'd', title: 'D', description: 'Do d.', assignee: 'bob', dependsOn: ['b', 'c'], priority: 3 },
    { id: 'e', title: 'E', description: 'Do e.', dependsOn: ['c'] },
  ],
};

const script: Script = [
  { when: { agent: 'lead', text: '# The team', turn: 1 }, reply: { text: 'No plan yet.', delayMs: 5 } },
  { when: { agent: 'lead', text: '# The team' }, reply: JSON.stringify(plan) },
  { when: { agent: 'lead' }, reply: { text: 'All of it.', delayMs: 5 } },
  {
    when: { agent: 'ann', text: '# Task: A', turn: 1 },
    reply: { calls: [{ tool: 'send_message', args: { to: 'bob', message: 'Hi.' } }] },
  },
  { when: { agent: 'ann' }, reply: { text: 'ann did it', delayMs: 20 } },
  { when: { agent: 'bob', text: '# Task: B' }, reply: { text: 'bob did it', delayMs: 10 } },
  { when: { agent: 'bob' }, reply: { text: 'bob did more', delayMs: 30 } },
];

test('crash after every record: the same tasks, the same answer, nothing settled is asked again', async () => {
  const report = await expectResumable(({ clock }) => {
    const models = [rehearse(script, { clock })];
    const member = (name: string) =>
      defineAgent({ name, description: `${name} works.`, prompt: `You are ${name}.`, models, tools: ['send_message'] });
    const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'You lead.', models });
    const team = defineTeam({
      name: 'crew',
      agents: [member('ann'), member('bob')],
      coordinator: lead,
      messages: true,
      parallel: 2,
      retries: 1,
    });
    return { agents: [team], agent: 'crew', input: 'Reach it.' };
  });
  expect(report.outcome).toMatchObject({ status: 'completed', output: 'All of it.' });
  expect(report.crashes).toBeGreaterThan(40);
});
