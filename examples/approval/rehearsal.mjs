// The scripted model of this example. It runs offline and knows only what it was shown.

const call = (tool, args) => ({ calls: [{ tool, args }] });

/** The last line of what it was told, without the marks of quoted text. */
const reported = ({ toolResults }) =>
  toolResults
    .map(({ text }) =>
      text
        .split('\n')
        .at(-1)
        .replace(/^(?:\| )+/u, ''),
    )
    .join(' ');

const letter = { to: 'anna@example.com', subject: 'Your bike', text: 'Dear Anna, your bike is ready. The shop' };

export default {
  lines: [
    { when: { agent: 'desk', turn: 1 }, reply: ({ goal }) => call('office', { prompt: goal }) },
    { when: { agent: 'desk' }, reply: (request) => `The office says: ${reported(request)}` },
    { when: { agent: 'office', turn: 1 }, reply: () => call('mailer', { prompt: `Write this: ${letter.text}` }) },
    { when: { agent: 'office' }, reply: reported },
    { when: { agent: 'mailer', turn: 1 }, reply: () => call('mail__send', letter) },
    { when: { agent: 'mailer' }, reply: reported },
  ],
};
