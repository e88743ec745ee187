// What only tests use of this room.
export { includeFiles } from './build-agents.ts';
