// A team that is crashed after any record resumes as if nothing had happened.
import { expect, test } from 'vitest';
import { defineAgent, defineTeam } from 'cloister';
import { expectResumable, rehearse } from 'cloister/testkit';
import type { RequestView, Script } from 'cloister/testkit';

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

// invariant: team-by-queue
test('crash after every record: the same tasks, the same answer, nothing settled is requested again', async () => {
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

/** Answers with what it was shown, so that a change caused by a crash is visible in the outcome. */
const shownText = ({ messages }: RequestView): string =>
  messages
    .flatMap(({ role, content }): readonly object[] => (role === 'system' || role === 'assistant' ? [] : content))
    .map((part) => ('text' in part ? String(part.text) : JSON.stringify(part)))
    .join('\n')
    // Message ids are random.
    .replace(/\bm-[0-9a-f]+/gu, 'm');

const messageScript: Script = [
  {
    when: { agent: 'ann', turn: 1 },
    reply: { calls: [{ tool: 'send_message', args: { to: 'bob', message: 'The secret of ann.' } }], delayMs: 5 },
  },
  { when: { agent: 'ann' }, reply: (request) => ({ text: `ann: ${shownText(request)}`, delayMs: 20 }) },
  {
    when: { agent: 'bob', turn: 1 },
    reply: { calls: [{ tool: 'receive_message', args: { timeout_ms: 100 } }], delayMs: 5 },
  },
  { when: { agent: 'bob' }, reply: (request) => ({ text: `bob: ${shownText(request)}`, delayMs: 5 }) },
  { when: { agent: 'lead', text: '# The team' }, reply: () => ({ text: JSON.stringify(messagePlan), delayMs: 5 }) },
  { when: { agent: 'lead' }, reply: (request) => shownText(request) },
];

const messagePlan = {
  tasks: [
    { id: 'a', title: 'A', description: 'Do a.', assignee: 'ann' },
    { id: 'b', title: 'B', description: 'Do b.', assignee: 'bob' },
    { id: 'c', title: 'C', description: 'Do c.', assignee: 'bob', dependsOn: ['a', 'b'] },
  ],
};

for (const messages of [true, false])
  test(`crash after every record, members ${messages ? 'may' : 'may not'} write: each is shown the same as without a crash`, async () => {
    const report = await expectResumable(({ clock }) => {
      const models = [rehearse(messageScript, { clock })];
      const member = (name: string, mate: string) =>
        defineAgent({
          name,
          description: `${name} works.`,
          prompt: `You are ${name}.`,
          models,
          tools: ['send_message', 'receive_message'],
          messages: ['parent', mate],
        });
      const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'You lead.', models });
      const agents = [member('ann', 'bob'), member('bob', 'ann')];
      const team = defineTeam({ name: 'crew', agents, coordinator: lead, messages });
      return { agents: [team], agent: 'crew', input: 'Reach it.' };
    });
    expect(report.outcome.status).toBe('completed');
    // Through the team to the task that had not started, or not at all.
    expect(report.outcome.output.includes('| The secret of ann.')).toBe(messages);
    expect(report.crashes).toBeGreaterThan(30);
  });
