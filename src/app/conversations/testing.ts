// What only tests use of this room.
export { newestEntries } from './begin-turn.ts';
export { conversationExtent } from './take-checkpoint.ts';
