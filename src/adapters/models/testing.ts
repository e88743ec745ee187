// What only tests use of this room.
export { thinkingShares } from './thinking-share.ts';
