// A scripted model that needs no key. Replace it in .ai-agent.json when you have a real one.

const helpers = ['planner', 'archivist'];
const call = (tool, args) => ({ tool, args });
const work = (text, ...calls) => ({ text, delayMs: 200, calls });
const textOf = ({ content }) =>
  typeof content === 'string' ? content : content.map(({ text, output }) => text ?? output?.value ?? '').join('\n');

/** The newest thing that the customer said. */
const request = ({ messages, goal }) =>
  textOf(messages.findLast(({ role }) => role === 'user') ?? { content: goal }).replace(/^Your task: /u, '');

const dayIn = (text) => /Monday|Tuesday|Wednesday|Thursday|Friday/u.exec(text)?.[0] ?? 'Monday';

const desk = (asked) => {
  const tools = asked.toolResults.map(({ tool }) => tool);
  if (tools.includes('send_message'))
    return work('I wait for both.', call('receive_message', { from: helpers, wait_for: 'all', timeout_ms: 20_000 }));
  if (tools.includes('receive_message')) {
    const [time] = /\w+day at \d+/u.exec(asked.lastText) ?? ['any day'];
    const known = asked.lastText.includes('blue bike') ? ' We know her blue bike: the brake was new in spring.' : '';
    return { text: `Yes: bring it ${time.replace(/^/u, 'on ')}.${known}`, delayMs: 200 };
  }
  const send = helpers.map((to) => call('send_message', { to, message: request(asked) }));
  if (asked.turn > 1) return work('I ask both.', ...send);
  return work('I open the desk.', ...helpers.map((agent_id) => call('spawn_agent', { agent_id })));
};

const deskAfterStart = (asked) =>
  asked.toolResults.some(({ tool }) => tool === 'spawn_agent')
    ? work('I ask both.', ...helpers.map((to) => call('send_message', { to, message: request(asked) })))
    : desk(asked);

const planner = (asked) => `${dayIn(asked.lastText)} at 10 is free.`;
const archivist = (asked) =>
  asked.lastText.includes('Anna')
    ? 'Anna has a blue bike; its brake was new in spring.'
    : 'I do not know that customer.';

export default {
  lines: [
    { when: { agent: 'desk' }, reply: deskAfterStart },
    { when: { agent: 'planner' }, reply: (asked) => ({ text: planner(asked), delayMs: 200 }) },
    { when: { agent: 'archivist' }, reply: (asked) => ({ text: archivist(asked), delayMs: 200 }) },
  ],
};
