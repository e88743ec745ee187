// What only tests use of this room.
export { parseEnv } from './parse-env.ts';
