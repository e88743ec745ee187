// What the models say in the tests.
import type { Script } from 'cloister/testkit';

export const script: Script = [
  { when: { agent: 'desk', turn: 1 }, reply: { calls: [{ tool: 'clerk', args: { prompt: 'What about A-17?' } }] } },
  { when: { agent: 'clerk', turn: 1 }, reply: { calls: [{ tool: 'look_up', args: { order: 'A-17' } }] } },
  { when: { agent: 'clerk', turn: 2 }, reply: '{{results}}' },
  { when: { agent: 'desk', turn: 2, text: 'broken' }, reply: { calls: [{ tool: 'refund', args: { order: 'A-17' } }] } },
  { when: { agent: 'desk', turn: 3, text: 'refunded' }, reply: 'Your money is on its way.' },
  { when: { agent: 'desk' }, reply: 'Somebody will look into it.' },
];
