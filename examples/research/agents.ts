// A lead and three researchers. Each works in its own cell: it sees its goal and its own tools, nothing else.
import { defineAgent } from 'cloister';
import { model } from './rehearsal.ts';
import { searchNotes } from './notes.ts';

// What may cross: the goal in, the result out. Take `result` away from one of them and run the demo again:
// its answer stays in its cell, the refusal is in the ledger, and the lead answers without it.
const operator = defineAgent({
  name: 'operator',
  description: 'Knows what it takes to keep a database running. Ask one question.',
  prompt: 'You research how databases are operated. Answer with findings, one a line, each with its source.',
  models: [model],
  tools: [searchNotes('operations')],
  grants: ['goal', 'result'],
});

const engineer = defineAgent({
  name: 'engineer',
  description: 'Knows how databases work inside. Ask one question.',
  prompt: 'You research how databases work. Answer with findings, one a line, each with its source.',
  models: [model],
  tools: [searchNotes('internals')],
  grants: ['goal', 'result'],
});

const analyst = defineAgent({
  name: 'analyst',
  description: 'Knows what analytical queries need. Ask one question.',
  prompt: 'You research analytical workloads. Answer with findings, one a line, each with its source.',
  models: [model],
  tools: [searchNotes('analytics')],
  grants: ['goal', 'result'],
});

const lead = defineAgent({
  name: 'lead',
  description: 'Answers a question with the help of three researchers.',
  prompt: 'You lead a small research team. Ask each researcher one precise question, then answer in your own words.',
  models: [model],
  agents: [operator, engineer, analyst],
  gather: { timeoutMs: 30_000 },
  budget: { usd: 1, tokens: 200_000 },
});

export default [lead];
