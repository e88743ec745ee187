export { Directory, mayWrite } from './directory.ts';
export type { LookupResult, Member } from './directory.ts';
export { mailboxBytesMax, mailboxMessagesMax, Mailbox } from './mailbox.ts';
export type { MailMatch, QueuedMessage } from './mailbox.ts';
