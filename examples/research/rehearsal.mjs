// The scripted model of this example. It runs offline, with delays and a price like those of a real one.

const ask = (agent, prompt) => ({ agent, prompt, reason: 'One angle each.' });

const resultLines = (results) => results.flatMap(({ text }) => text.split('\n'));

/** What the researchers found, as shown to the lead: data starts with "| ", and the names are the runtime's. */
const findings = ({ toolResults }) => {
  const found = [];
  let by = '';
  for (const line of resultLines(toolResults)) {
    const [, finder] = /^### Found by (.*)$/u.exec(line) ?? [];
    const [, names] = /^\(Same source cited by: (.*)\.\)$/u.exec(line) ?? [];
    if (finder !== undefined) by = finder;
    if (line.startsWith('| - ')) found.push(`${line.slice(2)} [found by ${by}]`);
    if (names !== undefined) found.push(`${found.pop().slice(0, -1)}; same source: ${names}]`);
  }
  return found;
};

const missing = ({ toolResults }) =>
  toolResults.some(({ text }) => text.startsWith('INCOMPLETE'))
    ? '\nNot every researcher answered; this is what the others found.'
    : '';

/** A researcher repeats what its search returned, without the index. */
const answer = ({ toolResults }) =>
  resultLines(toolResults)
    .filter((line) => line.startsWith('- '))
    .join('\n');

/** The findings of the engineer's first search, which is two turns back. */
const engineerAnswer = (shown) => [...new Set(shown.match(/- [^\\]*?\(https:[a-z./]+\)/gu) ?? [])].join('\n');

export default {
  lines: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: {
        text: 'I will ask three researchers, one angle each.',
        delayMs: 300,
        pieceDelayMs: 20,
        calls: [
          {
            tool: 'gather',
            args: {
              tasks: [
                ask('operator', 'What does it take to operate SQLite and DuckDB in a small team?'),
                ask('engineer', 'How do SQLite and DuckDB store data, and what is each fast at?'),
                ask('analyst', 'What do analytical queries need that SQLite and DuckDB do differently?'),
              ],
            },
          },
        ],
      },
    },
    {
      when: { agent: 'lead', turn: 2 },
      reply: (request) => ({
        text: `Use SQLite for records that change, and DuckDB for queries over many records.\n${findings(request).join('\n')}${missing(request)}`,
        delayMs: 400,
        pieceDelayMs: 5,
      }),
    },
    { when: { agent: 'operator', turn: 1 }, times: 1, reply: { fault: 429, retryAfterMs: 300 } },
    {
      when: { agent: 'operator', turn: 1 },
      reply: { calls: [{ tool: 'notes__operations', args: { query: 'backup and writers' } }], delayMs: 250 },
    },
    {
      when: { agent: 'engineer', turn: 1 },
      reply: { calls: [{ tool: 'notes__internals', args: { query: 'everything on storage' } }], delayMs: 350 },
    },
    {
      when: { agent: 'engineer', turn: 2 },
      reply: {
        text: 'The list goes on; I will read the rest.',
        calls: [{ tool: 'read_output', args: { name: 'notes__internals_001.txt', from: 1200 } }],
        delayMs: 250,
      },
    },
    {
      when: { agent: 'engineer', turn: 3 },
      reply: ({ messages }) => ({ text: engineerAnswer(JSON.stringify(messages)), delayMs: 300, pieceDelayMs: 5 }),
    },
    {
      when: { agent: 'analyst', turn: 1 },
      reply: { calls: [{ tool: 'notes__analytics', args: { query: 'sums, files' } }], delayMs: 200 },
    },
    {
      when: { agent: 'operator', turn: 2 },
      reply: (request) => ({ text: answer(request), delayMs: 350, pieceDelayMs: 5 }),
    },
    {
      when: { agent: 'analyst', turn: 2 },
      reply: (request) => ({ text: answer(request), delayMs: 500, pieceDelayMs: 5 }),
    },
  ],
};
