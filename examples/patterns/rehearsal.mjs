// The scripted model of this example. It runs offline, and its replies depend on the task it is shown.

const titleOf = ({ goal }) => goal.slice('# Task: '.length, goal.indexOf('\n'));

/** The lines of data it was shown. */
const dataOf = ({ messages }) =>
  messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) => content.flatMap(({ text }) => text.split('\n')))
    .flatMap((line) => (line.startsWith('| ') ? [line.slice(2)] : []));

const newestOf = (request) => dataOf(request).at(-1);

const write = (request) => {
  const title = titleOf(request);
  const before = newestOf(request);
  if (title.startsWith('Draft'))
    return before === undefined ? 'SQLite is nice.' : 'SQLite keeps a whole database in one file.';
  return before === undefined ? `${title}: a first line.` : `${title}, after "${before}"`;
};

const judge = (request) => {
  const title = titleOf(request);
  if (title.startsWith('Review'))
    return dataOf(request).some((line) => line.includes('one file')) ? 'ACCEPTED' : 'Nice how? Say what it does.';
  if (title.startsWith('Verdict')) return 'For one file: that side argued from what files are for.';
  return `${title}: I looked at "${newestOf(request) ?? 'nothing'}".`;
};

const sort = ({ goal }) => (goal.includes('invoice') ? 'billing' : 'technical');

export default {
  lines: [
    { when: { agent: 'writer' }, reply: (request) => ({ text: write(request), delayMs: 60 }) },
    { when: { agent: 'critic' }, reply: (request) => ({ text: judge(request), delayMs: 60 }) },
    { when: { agent: 'clerk' }, reply: (request) => ({ text: sort(request), delayMs: 60 }) },
  ],
};
