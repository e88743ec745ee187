// The model of this example: scripted, offline, with the time that a real one would take.

const facts = [
  '- A commit waits until the disk has it (https://sqlite.org/atomiccommit.html).',
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

/** The writer says what it has seen: so it shows what it was shown. */
const write = ({ messages }) => {
  const seen = JSON.stringify(messages);
  const more = seen.includes('public domain') ? ' It is in the public domain, says somebody nobody asked.' : '';
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
      reply: { text: 'None: it is in the public domain and asks for nothing.', delayMs: 200 },
    },
    { when: { agent: 'writer' }, reply: write },
    { when: { agent: 'editor', text: '# The team' }, reply: { text: JSON.stringify(plan), delayMs: 300 } },
    {
      when: { agent: 'editor' },
      reply: { text: 'SQLite: what it writes, the disk has; nobody owns it, so anybody may use it.', delayMs: 300 },
    },
  ],
};
