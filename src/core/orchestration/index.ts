export { assertAgent, defineAgent } from './define-agent.ts';
export { checkShared } from './check-agent.ts';
export { checkRequest, checkResume, resumeRun, startRun } from './run-agent.ts';
export type { LiveRun, World } from './run-agent.ts';
