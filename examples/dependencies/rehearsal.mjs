// The scripted model of this example. It runs offline and takes about as long as a real one.

const facts = [
  '- A commit waits until its data is on disk (https://sqlite.org/atomiccommit.html).',
  '- With a write-ahead log readers do not wait for writers (https://sqlite.org/wal.html).',
].join('\n');

const plan = {
  tasks: [
    { id: 'facts', title: 'Facts on writing', description: 'Find out how SQLite writes.', assignee: 'researcher' },
    { id: 'licence', title: 'The licence', description: 'Which licence does it have?', assignee: 'lawyer' },
    {
      id: 'page',
      title: 'The page',
      description: 'Write a paragraph on how SQLite writes.',
      assignee: 'writer',
      dependsOn: ['facts'],
    },
  ],
};

/** The writer mentions everything it was shown, so that its text reveals what that was. */
const write = ({ messages }) => {
  const seen = JSON.stringify(messages);
  const more = seen.includes('public domain') ? ' It is also in the public domain, although nobody asked.' : '';
  return {
    text: `SQLite waits for the disk before a commit counts, and with a write-ahead log its readers need not wait.${more}`,
    delayMs: 300,
  };
};

export default {
  lines: [
    { when: { agent: 'researcher' }, reply: { text: facts, delayMs: 400 } },
    {
      when: { agent: 'lawyer' },
      reply: { text: 'None: it is in the public domain and requires nothing.', delayMs: 200 },
    },
    { when: { agent: 'writer' }, reply: write },
    { when: { agent: 'editor', text: '# The team' }, reply: { text: JSON.stringify(plan), delayMs: 300 } },
    {
      when: { agent: 'editor' },
      reply: { text: 'SQLite: a committed write is on disk. Nobody owns SQLite, so anybody may use it.', delayMs: 300 },
    },
  ],
};
