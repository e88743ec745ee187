// Replies of the mail tools to a model, with the shapes and codes of the seed document.
import { nearestName, sha256 } from '#base';
import type { CellId, Json } from '#base';
import type { DeadLetter, DeadReason } from '#contracts';

export type MailToolReply = Readonly<Record<string, unknown>> & { readonly success: boolean };

type MailToolCode =
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

const retryableCodes: readonly MailToolCode[] = ['SPAWN_FAILED', 'SPAWN_LIMIT', 'SPAWN_RATE', 'MAILBOX_FULL'];

/** The handle of a cell that is safe to show to its caller. */
export const sessionHandle = (cell: CellId): string => `s-${sha256(cell).slice(0, 12)}`;

export const mailToolSuccess = (fields: Readonly<Record<string, unknown>>): MailToolReply => ({
  success: true,
  ...fields,
});

export const mailToolError = (code: MailToolCode, message: string, suggestion: string): MailToolReply => ({
  success: false,
  error: { code, message, suggestion, retryable: retryableCodes.includes(code) },
});

/** What the recorded value of a post holds besides the text for the model. */
type PostFacts = {
  readonly id?: string;
  readonly dead?: readonly DeadLetter[];
  readonly subscribed?: string;
  /** Crossings of child results that this reply reports, so that they are not delivered as mail too. */
  readonly told?: readonly number[];
};

export const mailToolValue = (reply: MailToolReply, facts: PostFacts = {}): Json => ({
  text: JSON.stringify(reply),
  ...facts,
});

type LookupFailure = { readonly why: 'unknown' | 'ambiguous' | 'self' | 'ended'; readonly known: readonly string[] };

/** Shows only names that the sender may message anyway. */
const notFound = (name: string, { why, known }: LookupFailure): MailToolReply => {
  const quoted = JSON.stringify(name.slice(0, 80));
  const reachable = known.length === 0 ? 'You cannot message any agent.' : `You can message: ${known.join(', ')}.`;
  if (why === 'self') return mailToolError('NOT_ALLOWED', `${quoted} is you.`, reachable);
  if (why === 'ambiguous')
    return mailToolError('AMBIGUOUS_NAME', `${quoted} matches several agents.`, `Use one of: ${known.join(', ')}.`);
  if (why === 'ended') return mailToolError('AGENT_ENDED', `${quoted} has ended.`, reachable);
  const suggestion = nearestName(name, known);
  return mailToolError(
    'AGENT_NOT_FOUND',
    `There is no agent named ${quoted} that you can message.`,
    `${suggestion === null ? '' : `Did you mean "${suggestion}"? `}${reachable}`,
  );
};

const undelivered = (name: string, reason: DeadReason): MailToolReply =>
  reason === 'overflow'
    ? mailToolError(
        'MAILBOX_FULL',
        `${name} has too many unread messages from you.`,
        'Wait until it has read some of them, then retry.',
      )
    : mailToolError('NOT_ALLOWED', `The message to ${name} was refused.`, 'Continue without sending it.');

const topicRefused = (name: string, what: string, known: readonly string[]): MailToolReply =>
  mailToolError(
    what.startsWith('is not a topic you can') ? 'NOT_ALLOWED' : 'INVALID_TOPIC',
    `${JSON.stringify(name.slice(0, 80))} ${what}.`,
    known.length === 0 ? 'You have no topics.' : `Your topics: ${known.join(', ')}.`,
  );

export const mailRefusals = {
  notFound,
  undelivered,
  topic: topicRefused,
  invalid: (message: string, suggestion: string) => mailToolError('INVALID_MESSAGE', message, suggestion),
};
