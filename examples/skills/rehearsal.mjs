// The scripted model of this example.
const read = (args) => ({ calls: [{ tool: 'read_skill', args }] });

export default {
  lines: [
    { when: { agent: 'clerk', turn: 1 }, reply: read({ skill: 'invoices' }) },
    { when: { agent: 'clerk', turn: 2 }, reply: read({ skill: 'invoices', file: 'references/fields.md' }) },
    {
      when: { agent: 'clerk', turn: 3 },
      reply: ({ toolResults }) => `Invoice 7. I checked: ${toolResults.at(-1).text.trim()}`,
    },
  ],
};
