// The model of this example: scripted, offline. Every reply is a function of what the agent was shown.

const party = ['fighter', 'wizard', 'rogue'];

const deeds = {
  fighter: ['I raise my shield and go first.', 'I put my shoulder to it.', 'I keep the rear.'],
  wizard: ['I read the signs on the wall by the light of my staff.', 'I hold the light high.', 'I count our steps.'],
  rogue: ['I look for wires between the stones.', 'I feel for the lock.', 'I walk where the dust is whole.'],
};

/** `<sender> on the topic <topic> (message_id <id>):`, then the words, each line after a bar. */
const broadcasts = (text) =>
  [...text.matchAll(/^(?<from>\S+) on the topic party-chat[^\n]*\n(?<body>(?:(?!\S+ on the topic)[^\n]*\n?)*)/gmu)].map(
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

/** What the person does now: their newest words, as a task or as a message. */
const saidBy = ({ messages, goal }) => {
  const newest = messages.findLast(({ role, content }) => role === 'user' && !textOf(content).includes('on the topic'));
  return newest === undefined ? goal : textOf(newest.content).replace(/^Your task: /u, '');
};

/** All that was said on the topic since the game master last spoke there. */
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
  calls: [call('publish', { topic: 'party-chat', message: `The one who leads you: "${said}" What do you do?` })],
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

/** Speaks when the game master has spoken; to the others it only listens. */
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
