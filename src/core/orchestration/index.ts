export { agentFrom, askFor, assertAgent, defineAgent } from './define-agent.ts';
export { depthMax } from './agent-tool.ts';
export { checkShared } from './check-agent.ts';
export { checkRequest } from './check-request.ts';
export { splitServer } from './guidance.ts';
export { checkResume, resumeRun, startRun } from './run-agent.ts';
export type { LiveRun, World } from './run-agent.ts';
