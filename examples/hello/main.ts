import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';

const model = rehearse([
  { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'researcher', args: { prompt: 'What is a cell?' } }] } },
  { when: { agent: 'lead' }, reply: 'A cell is one agent at work, in a room of its own.' },
  { when: { agent: 'researcher' }, reply: 'A room of its own.' },
]);
const researcher = defineAgent({ name: 'researcher', description: 'Finds out one thing.', prompt: 'You research.' });
const lead = defineAgent({ name: 'lead', description: 'Answers.', prompt: 'You lead.', agents: [researcher] });

await using cloister = await openCloister({ store: 'memory', agents: [lead], models: [model] });
const { status, output, spent, run } = await cloister.run('lead', 'Explain cells').outcome;
console.log(status, output, spent, await cloister.audit(run));
