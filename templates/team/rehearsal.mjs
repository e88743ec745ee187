// A scripted model that needs no key. Replace it in .ai-agent.json when you have a real one.

const plan = {
  tasks: [
    {
      id: 'facts',
      title: 'Facts on backups',
      description: 'What makes a backup worth having?',
      assignee: 'researcher',
    },
    { id: 'risks', title: 'What goes wrong', description: 'How do backups fail?', assignee: 'critic' },
    {
      id: 'page',
      title: 'The page',
      description: 'Write a short page on backups for operators.',
      assignee: 'writer',
      dependsOn: ['facts', 'risks'],
    },
  ],
};

const page = `**Backups.** A backup counts only once it was restored: restore one at random every month.

Watch that it is made at all. A job that fails in silence is found on the day you need it.`;

const line = (when, text) => ({ when, reply: { text, delayMs: 200 } });

export default {
  lines: [
    line({ agent: 'researcher' }, 'A backup counts only once it was restored. Restore one at random every month.'),
    line({ agent: 'critic' }, 'A job fails in silence for weeks, and nobody looks until the day of the restore.'),
    line({ agent: 'writer' }, page),
    line({ agent: 'editor', text: '# The team' }, JSON.stringify(plan)),
    line({ agent: 'editor' }, page),
  ],
};
