// What only tests use of this room.
export { matchesCondition } from './matches-condition.ts';
