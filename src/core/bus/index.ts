export { Directory, mayWrite } from './directory.ts';
export type { Looked, Member } from './directory.ts';
export { boxBytesMax, lettersMax, Mailbox } from './mailbox.ts';
export type { Found, Letter } from './mailbox.ts';
