export { windowTokensDefault } from './window-limit.ts';
export { builtinSchemas, builtinTool } from './builtin-tools.ts';
export { failingStep, stepAbout, stepChain } from './chain.ts';
export { plainName, shownName } from './open-source.ts';
export { thinkingTokens } from './budget.ts';
export { limitPassed } from './limits.ts';
export { plainTool } from './plain-tool.ts';
export { runSession } from './session.ts';
export type { Beginning, Call, CallEnd, Chain, Move, Session, SessionPorts, ToolRunner } from './state.ts';
