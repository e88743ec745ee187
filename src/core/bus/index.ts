export { Directory } from './directory.ts';
export type { LookupResult, Member } from './directory.ts';
export { mailRefusals, mailToolError, mailToolSuccess, mailToolValue, sessionHandle } from './mail-tool-replies.ts';
export type { MailToolReply } from './mail-tool-replies.ts';
export { isMessage, mailboxBytesMax, mailboxMessagesMax } from './mailbox.ts';
export type { MailFilter, QueuedMessage } from './mailbox.ts';
