// Each case is one run in memory. Its status, the reason, and as much of an answer as there is are printed.
import { defineAgent, openCloister } from 'cloister';
import type { Agent, RunOptions, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';

const look: ToolDefinition = {
  name: 'look',
  description: 'Look once more.',
  inputSchema: { type: 'object' },
  repeat: 'free',
  execute: () => 'Nothing new.',
};

const { model } = rehearse(
  {
    price: { input: 3, output: 15 },
    lines: [
      { when: { agent: 'slow' }, reply: { text: 'At last.', delayMs: 10_000 } },
      {
        when: { agent: 'lead', turn: 1 },
        reply: {
          calls: [
            {
              tool: 'gather',
              args: {
                tasks: [
                  { agent: 'quick', prompt: 'Now?' },
                  { agent: 'slow', prompt: 'Later?' },
                ],
              },
            },
          ],
        },
      },
      { when: { agent: 'lead' }, reply: 'One answered, one did not.' },
      { when: { agent: 'quick' }, reply: '- I am here.' },
      { when: ({ tools }) => tools.length === 0, reply: 'I looked and found nothing; that is all.' },
      { reply: { text: 'I look again.', calls: [{ tool: 'look' }] } },
    ],
  },
  { keepRequests: false },
);

const searcher = (limits: Agent['caps']['limits']): Agent =>
  defineAgent({
    name: 'searcher',
    description: 'Never stops by itself.',
    prompt: 'Search.',
    models: [model],
    tools: [look],
    limits,
  });
const helper = (name: string): Agent =>
  defineAgent({ name, description: `Is ${name}.`, prompt: 'Help.', models: [model] });
const lead = defineAgent({
  name: 'lead',
  description: 'Asks two.',
  prompt: 'Lead.',
  models: [model],
  agents: [helper('quick'), helper('slow')],
  gather: { timeoutMs: 200 },
});

const cases: readonly [what: string, agent: Agent, options?: RunOptions][] = [
  ['a limit of three steps', searcher({ max_steps: 3 })],
  ['two turns', searcher({ maxToolTurns: 2 })],
  ['a budget of 2,100 tokens', searcher({}), { budget: { tokens: 2_100 } }],
  ['a budget of nothing', searcher({}), { budget: { usd: 0 } }],
  ['a child that is late', lead],
  ['100 ms for a slow agent', helper('slow'), { budget: { ms: 100 } }],
];

await using cloister = await openCloister({ store: 'memory', agents: [] });
for (const [what, agent, options] of cases) {
  const { status, failure, missing, output } = await cloister.run(agent, 'Find it.', options).outcome;
  const why = failure === null ? `missing ${missing.join(', ')}` : (failure.detail ?? failure.code);
  console.log(`${what}: ${status} (${why}) ${JSON.stringify(output)}`);
}
