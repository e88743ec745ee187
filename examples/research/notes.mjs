// What the researchers search: a few notes of our own, so that the example needs no network. Each subject has its own tool.

const notes = {
  operations: [
    {
      text: 'A SQLite database is one file; a copy taken with the backup command is a backup.',
      source: 'https://notes.example/backup',
    },
    {
      text: 'Both run inside the program, so there is no server to monitor or patch.',
      source: 'https://notes.example/embedded',
    },
    { text: 'One writer at a time: long writes make other writers wait.', source: 'https://notes.example/writers' },
  ],
  internals: [
    {
      text: 'SQLite stores data by row and is fast at finding and changing single records.',
      source: 'https://notes.example/rows',
    },
    {
      text: 'DuckDB stores data by column and reads only the columns that a query names.',
      source: 'https://notes.example/columns',
    },
    { text: 'Neither needs a server: both run inside the program.', source: 'https://notes.example/embedded' },
  ],
  analytics: [
    {
      text: 'For sums over millions of rows, a column store is many times faster.',
      source: 'https://notes.example/columns',
    },
    {
      text: 'DuckDB reads Parquet and CSV files in place, without loading them first.',
      source: 'https://notes.example/files',
    },
  ],
};

/** Long enough to be offloaded: the model is shown a preview, and reads the rest by name. */
const padding = Array.from({ length: 400 }, (_, index) => `index entry ${index + 1}: nothing of note`).join('\n');

const shelf = (name) => ({
  name,
  description: `Search the notes on ${name}.`,
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string' } },
    required: ['query'],
    additionalProperties: false,
  },
  repeat: 'free',
  execute: ({ query }) => {
    const lines = notes[name].map(({ text, source }) => `- ${text} (${source})`).join('\n');
    return query.startsWith('everything') ? `${lines}\n${padding}` : lines;
  },
});

export default Object.keys(notes).map(shelf);
