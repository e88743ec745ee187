// The scripted model of this example. It runs offline and knows only what it was shown.

const partsAtOnce = 2;

const call = (tool, args) => ({ tool, args });

const textOf = (content) =>
  typeof content === 'string'
    ? content
    : content.map((part) => part.text ?? (part.type === 'tool-result' ? part.output.value : '')).join('\n');

/** The findings passed on in its goal, as `- part <n>: <finding>`, and those it has read itself. */
const known = ({ goal, messages }) => {
  const own = messages
    .filter(({ role }) => role === 'tool')
    .flatMap(({ content }) => [...textOf(content).matchAll(/Finding of part (\d+): ([^\n]*)/gu)])
    .map(([, number, finding]) => `- part ${number}: ${finding}`);
  return [...new Set([...(goal.match(/- part \d+: [^\n]*/gu) ?? []), ...own])];
};

/** What is left to read; the whole report, if the goal names no parts. */
const left = ({ goal }) => {
  const [, from, to] = /parts (\d+) to (\d+)/u.exec(goal) ?? [null, 1, 6];
  return { from: Number(from), to: Number(to) };
};

const read = ({ from, to }) => ({
  text: `I start reading at part ${from}.`,
  delayMs: 150,
  calls: Array.from({ length: Math.min(partsAtOnce, to - from + 1) }, (_, no) =>
    call('report__part', { number: from + no }),
  ),
});

const handOn = (request, { from, to }) => ({
  text: 'My context is full: a copy of me continues.',
  calls: [
    call('spawn_agent', {
      agent_id: 'self',
      initial_message: `Sum up parts ${from} to ${to} of the report. Found so far:\n${known(request).join('\n')}`,
    }),
  ],
});

const answered = ({ toolResults }) =>
  toolResults
    .flatMap(({ text }) => text.split('\n'))
    .filter((line) => line.startsWith('| - '))
    .map((line) => line.slice(2))
    .join('\n');

const reply = (request) => {
  const used = new Set(request.toolResults.map(({ tool }) => tool));
  const { from, to } = left(request);
  if (used.has('spawn_agent')) return { calls: [call('receive_message', { timeout_ms: 20_000 })] };
  if (used.has('receive_message')) return answered(request);
  if (!used.has('report__part')) return read({ from, to });
  const next = from + partsAtOnce;
  return next > to ? known(request).join('\n') : handOn(request, { from: next, to });
};

export default { lines: [{ reply }] };
