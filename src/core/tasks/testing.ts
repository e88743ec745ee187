// What only tests use of this room.
export { matchesCondition } from './dependency-outcomes.ts';
