// What the mail tools tell a model: the seed's shapes and codes.
import { nearestName } from '#base';
import type { DeadReason } from '#contracts';

export type MailToolReply = Readonly<Record<string, unknown>> & { readonly success: boolean };

type Code =
  | 'AGENT_NOT_FOUND'
  | 'SPAWN_FAILED'
  | 'SPAWN_LIMIT'
  | 'SPAWN_DEPTH'
  | 'SPAWN_RATE'
  | 'NOT_ALLOWED'
  | 'AGENT_ENDED'
  | 'AMBIGUOUS_NAME'
  | 'MAILBOX_FULL'
  | 'INVALID_MESSAGE'
  | 'INVALID_TOPIC';

const retryables: readonly Code[] = ['SPAWN_FAILED', 'SPAWN_LIMIT', 'SPAWN_RATE', 'MAILBOX_FULL'];

export const mailToolSuccess = (fields: Readonly<Record<string, unknown>>): MailToolReply => ({
  success: true,
  ...fields,
});

export const mailToolError = (code: Code, message: string, suggestion: string): MailToolReply => ({
  success: false,
  error: { code, message, suggestion, retryable: retryables.includes(code) },
});

type Looked = { readonly why: 'unknown' | 'ambiguous' | 'self' | 'ended'; readonly known: readonly string[] };

/** The names are those that the asker may write to anyway. */
const notFound = (name: string, { why, known }: Looked): MailToolReply => {
  const asked = JSON.stringify(name.slice(0, 80));
  const there = known.length === 0 ? 'You may write to nobody here.' : `You may write to: ${known.join(', ')}.`;
  if (why === 'self') return mailToolError('NOT_ALLOWED', `${asked} is yourself.`, there);
  if (why === 'ambiguous')
    return mailToolError('AMBIGUOUS_NAME', `${asked} could be several.`, `Say which: ${known.join(', ')}.`);
  if (why === 'ended') return mailToolError('AGENT_ENDED', `${asked} has ended.`, there);
  const meant = nearestName(name, known);
  return mailToolError(
    'AGENT_NOT_FOUND',
    `There is nobody called ${asked}.`,
    `${meant === null ? '' : `Did you mean "${meant}"? `}${there}`,
  );
};

const undelivered = (name: string, reason: DeadReason): MailToolReply =>
  reason === 'overflow'
    ? mailToolError('MAILBOX_FULL', `The mailbox of ${name} is full.`, 'Wait until it has read some, then send again.')
    : mailToolError('NOT_ALLOWED', `The message to ${name} was not let through.`, 'Do without it.');

const topic = (name: string, what: string, known: readonly string[]): MailToolReply =>
  mailToolError(
    what.startsWith('is not yours') ? 'NOT_ALLOWED' : 'INVALID_TOPIC',
    `${JSON.stringify(name.slice(0, 80))} ${what}.`,
    known.length === 0 ? 'You have no topics.' : `Yours are: ${known.join(', ')}.`,
  );

export const mailRefusals = {
  notFound,
  undelivered,
  topic,
  invalid: (message: string, suggestion: string) => mailToolError('INVALID_MESSAGE', message, suggestion),
};
