// What only tests use of this room.
export { responseIdOf } from './transport.ts';
