// What only tests use of this room.
export { thinkingShares } from './vendor.ts';
