// What the mail tools tell a model: the seed's shapes and codes.
import { nearest } from '#base';
import type { DeadReason } from '#contracts';

export type Told = Readonly<Record<string, unknown>> & { readonly success: boolean };

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

export const succeeded = (fields: Readonly<Record<string, unknown>>): Told => ({ success: true, ...fields });

export const refused = (code: Code, message: string, suggestion: string): Told => ({
  success: false,
  error: { code, message, suggestion, retryable: retryables.includes(code) },
});

type Looked = { readonly why: 'unknown' | 'ambiguous' | 'self' | 'ended'; readonly known: readonly string[] };

/** The names are those that the asker may write to anyway. */
const notFound = (name: string, { why, known }: Looked): Told => {
  const asked = JSON.stringify(name.slice(0, 80));
  const there = known.length === 0 ? 'You may write to nobody here.' : `You may write to: ${known.join(', ')}.`;
  if (why === 'self') return refused('NOT_ALLOWED', `${asked} is yourself.`, there);
  if (why === 'ambiguous')
    return refused('AMBIGUOUS_NAME', `${asked} could be several.`, `Say which: ${known.join(', ')}.`);
  if (why === 'ended') return refused('AGENT_ENDED', `${asked} has ended.`, there);
  const meant = nearest(name, known);
  return refused(
    'AGENT_NOT_FOUND',
    `There is nobody called ${asked}.`,
    `${meant === null ? '' : `Did you mean "${meant}"? `}${there}`,
  );
};

const undelivered = (name: string, reason: DeadReason): Told =>
  reason === 'overflow'
    ? refused('MAILBOX_FULL', `The mailbox of ${name} is full.`, 'Wait until it has read some, then send again.')
    : refused('NOT_ALLOWED', `The message to ${name} was not let through.`, 'Do without it.');

const topic = (name: string, what: string, known: readonly string[]): Told =>
  refused(
    what.startsWith('is not yours') ? 'NOT_ALLOWED' : 'INVALID_TOPIC',
    `${JSON.stringify(name.slice(0, 80))} ${what}.`,
    known.length === 0 ? 'You have no topics.' : `Yours are: ${known.join(', ')}.`,
  );

export const refusal = {
  notFound,
  undelivered,
  topic,
  invalid: (message: string, suggestion: string) => refused('INVALID_MESSAGE', message, suggestion),
};
