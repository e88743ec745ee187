export { openPgBoss } from './pg-boss.ts';
export { parseRestateAddress, RestateEngine } from './restate.ts';
export { StoreEngine } from './store-engine.ts';
