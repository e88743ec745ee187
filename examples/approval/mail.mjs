// The mail server of this example: it writes what is sent to `outbox.txt` in the current folder.
import { appendFileSync } from 'node:fs';

export default [
  {
    name: 'send',
    description: 'Send a mail to a customer. It cannot be taken back.',
    inputSchema: {
      type: 'object',
      properties: { to: { type: 'string' }, subject: { type: 'string' }, text: { type: 'string' } },
      required: ['to', 'subject', 'text'],
      additionalProperties: false,
    },
    execute: ({ to, subject, text }) => {
      appendFileSync('outbox.txt', `To: ${to}\nSubject: ${subject}\n\n${text}\n\n`);
      return `Sent to ${to}.`;
    },
  },
];
