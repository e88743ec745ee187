// What only tests use of this room.
export { Mailbox } from './mailbox.ts';
