export { windowTokensDefault } from './window-limit.ts';
export { approvedTool } from './approved-tool.ts';
export { askPersonTool } from './ask-person.ts';
export { builtinSchemas, builtinTool } from './builtin-tools.ts';
export { clientTool } from './client-tool.ts';
export { callAbout, failingChain, failingStep, stepAbout, stepChain } from './tool-call-chain.ts';
export { limitFailure } from './limits.ts';
export { plainTool } from './plain-tool.ts';
export { toCallableTool } from './callable-tool.ts';
export { spawnedWaitMs } from './end-spawned.ts';
export { requestShutdown, shutdownGraceMs } from './shut-down-spawned.ts';
export { isMailTool, mailSchemas } from './mail-schemas.ts';
export { noteMailRead, crossingAt } from './read-mail.ts';
export { mailLoopFailure, mailBytesMax, newMailId } from './send-mail.ts';
export { runSession } from './session.ts';
export type {
  ChildStart,
  LazyOperation,
  ToolCall,
  CallEnd,
  ToolCallChain,
  ChainStep,
  Session,
  SessionPorts,
  ToolRunner,
} from './state.ts';
