// The scripted model of this example. It runs offline, and every reply is a function of what the agent was shown.

const party = ['fighter', 'wizard', 'rogue'];

const deeds = {
  fighter: ['I raise my shield and go first.', 'I put my shoulder to it.', 'I guard the rear.'],
  wizard: ['I read the signs on the wall by the light of my staff.', 'I hold the light high.', 'I count our steps.'],
  rogue: ['I look for wires between the stones.', 'I feel for the lock.', 'I walk where the dust is undisturbed.'],
};

/** `<sender> on topic <topic> (message_id <id>):`, then the words, each line after a bar. */
const broadcasts = (text) =>
  [...text.matchAll(/^(?<from>\S+) on topic party-chat[^\n]*\n(?<body>(?:(?!\S+ on topic)[^\n]*\n?)*)/gmu)].map(
    ({ groups }) => ({
      from: groups.from,
      text: groups.body
        .split('\n')
        .filter((line) => line.startsWith('| '))
        .map((line) => line.slice(2))
        .join(' '),
    }),
  );

const nameOf = (from) => from.replace(/^.*:/u, '');

const call = (tool, args) => ({ tool, args });

const textOf = (content) =>
  typeof content === 'string'
    ? content
    : content.map((part) => part.text ?? (part.type === 'tool-result' ? part.output.value : '')).join('\n');

/** What the user does now: their latest message, or the task. */
const saidBy = ({ messages, goal }) => {
  const newest = messages.findLast(({ role, content }) => role === 'user' && !textOf(content).includes(' on topic '));
  return newest === undefined ? goal : textOf(newest.content).replace(/^Your task: /u, '');
};

/** Everything published on the topic since the game master last published there. */
const heardSince = ({ messages }) => {
  const last = messages.findLastIndex(
    ({ role, content }) => role === 'assistant' && JSON.stringify(content).includes('"publish"'),
  );
  return messages
    .slice(last + 1)
    .filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => broadcasts(textOf(content)));
};

const begin = () => ({
  text: 'I call the party to the table.',
  delayMs: 200,
  calls: [
    call('subscribe', { topic: 'party-chat' }),
    ...party.map((agent_id) => call('spawn_agent', { agent_id, workflow_id: 'cave', auto_subscribe: ['party-chat'] })),
  ],
});

const scene = (said) => ({
  delayMs: 200,
  calls: [call('publish', { topic: 'party-chat', message: `Your leader says: "${said}" What do you do?` })],
});

const listen = () => ({ calls: [call('receive_broadcast', { topics: ['party-chat'], timeout_ms: 10_000 })] });

const tell = (heard) => ({
  delayMs: 200,
  pieceDelayMs: 5,
  text: [
    ...heard.map(({ from, text }) => `${nameOf(from)}: ${text}`),
    'Stone grinds on stone, and a way opens. What do you do?',
  ].join('\n'),
});

const lead = (request) => {
  const used = request.toolResults.map(({ tool }) => tool);
  if (used.includes('spawn_agent')) return scene(request.goal);
  if (used.includes('publish')) return listen();
  if (used.includes('receive_broadcast')) {
    const heard = heardSince(request);
    return heard.length < party.length ? listen() : tell(heard);
  }
  return request.turn === 1 ? begin() : scene(saidBy(request));
};

/** Publishes only after the game master has; it just listens to the others. */
const play = (request) => {
  if (request.toolResults.length > 0) return 'I have said what I do.';
  if (!broadcasts(request.lastText).some(({ from }) => from === 'game-master')) return 'I listen.';
  const spoken = request.messages.filter(
    ({ role, content }) => role === 'assistant' && JSON.stringify(content).includes('"publish"'),
  );
  const deed = deeds[request.agent][spoken.length % 3];
  return { delayMs: 150, calls: [call('publish', { topic: 'party-chat', message: deed })] };
};

export default {
  lines: [{ when: { agent: 'game-master' }, reply: lead }, ...party.map((agent) => ({ when: { agent }, reply: play }))],
};
