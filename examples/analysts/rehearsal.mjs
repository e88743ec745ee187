// The scripted model of this example. It runs offline and takes about as long as a real one.

const analysts = {
  'sql-analyst': {
    ask: 'How fast is: SELECT * FROM orders JOIN customers USING (id) WHERE name = ?',
    says: 'It reads every order, because `name` has no index: add one.',
    delayMs: 400,
  },
  'security-analyst': {
    ask: 'Is this safe: SELECT * FROM orders JOIN customers USING (id) WHERE name = ?',
    says: 'The name is bound, not pasted into the query, so it is safe.',
    delayMs: 200,
  },
  'cost-analyst': {
    ask: 'What does a full read of 40 million orders cost, 2,000 times a day?',
    says: 'A lot, but I am not sure how much.',
    delayMs: 300,
  },
};

const names = Object.keys(analysts);
const call = (tool, args) => ({ tool, args });

/** Matches `Answer from <who> (message_id <id>):` and the text below it, each line of which starts with a bar. */
const answersIn = (text) =>
  [
    ...text.matchAll(/^Answer from (?<who>\S+) \(message_id (?<id>\S+)\):\n(?:(?!\|)[^\n]*\n)*\| (?<words>[^\n]*)/gmu),
  ].map(({ groups }) => groups);

const start = () => ({
  text: 'Three analysts, each with its own question.',
  delayMs: 200,
  calls: names.map((agent_id) => call('spawn_agent', { agent_id, initial_message: analysts[agent_id].ask })),
});

const waitFor = (from) => ({ calls: [call('receive_message', { from, wait_for: 'all', timeout_ms: 20_000 })] });

const askAgain = ({ who, id }) => ({
  text: 'One is not sure, so I ask it for a number.',
  calls: [call('send_message', { to: who, message: 'Give me a number, however rough.', reply_to: id })],
});

const textOf = (content) =>
  typeof content === 'string'
    ? content
    : content.map((part) => part.text ?? (part.type === 'tool-result' ? part.output.value : '')).join('\n');

/** The latest answer of each analyst. */
const findings = ({ messages }) => {
  const found = new Map(
    messages
      .filter(({ role }) => role === 'tool')
      .flatMap(({ content }) => answersIn(textOf(content)))
      .map(({ who, words }) => [who, words]),
  );
  return [...found].map(([who, words]) => `- ${who}: ${words}`).join('\n');
};

const review = (request) => {
  const used = new Set(request.toolResults.map(({ tool }) => tool));
  if (used.has('spawn_agent')) return waitFor(names);
  if (used.has('send_message')) return waitFor(['cost-analyst']);
  if (used.has('receive_message')) {
    const unsure = answersIn(request.toolResults[0].text).find(({ words }) => words.includes('not sure'));
    if (unsure !== undefined) return askAgain(unsure);
    return { calls: names.map((sub_agent_id) => call('shutdown_agent', { sub_agent_id, reason: 'Done.' })) };
  }
  if (used.has('shutdown_agent'))
    return { text: `Not yet: add an index first.\n${findings(request)}`, pieceDelayMs: 5 };
  return start();
};

const analyse = ({ agent, lastText }) => {
  const { says, delayMs } = analysts[agent];
  return { text: lastText.includes('Give me a number') ? 'About 90 dollars a month, give or take 20.' : says, delayMs };
};

export default {
  lines: [
    { when: { agent: 'reviewer' }, reply: review },
    ...names.map((agent) => ({ when: { agent }, reply: analyse })),
  ],
};
