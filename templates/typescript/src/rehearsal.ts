// The scripted model: it needs no key, and the tests use it.
import type { Script } from 'cloister/testkit';

export const script: Script = {
  price: { input: 1, output: 5 },
  lines: [
    {
      when: { agent: 'desk', turn: 1 },
      reply: ({ goal }) => {
        const [order] = /[A-Z]-\d+/u.exec(goal) ?? [];
        if (order === undefined) return 'Which order is it? Its number looks like A-17.';
        return { calls: [{ tool: 'clerk', args: { prompt: `What happened to ${order}?` } }] };
      },
    },
    {
      when: { agent: 'desk' },
      reply: ({ lastText }) =>
        lastText.includes('left the warehouse')
          ? 'Your teapot left the warehouse on Monday and should be with you by Thursday.'
          : 'I cannot find that order. Please check its number.',
    },
    {
      when: { agent: 'clerk', turn: 1 },
      reply: ({ goal }) => ({ calls: [{ tool: 'look_up', args: { order: /[A-Z]-\d+/u.exec(goal)?.[0] ?? '' } }] }),
    },
    {
      when: { agent: 'clerk' },
      reply: ({ lastText }) =>
        lastText.includes('teapot') ? 'The teapot left the warehouse on Monday.' : 'There is no such order.',
    },
  ],
};
