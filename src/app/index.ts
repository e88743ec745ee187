// The library: `import { openCloister, defineAgent } from 'cloister'`.
export { CloisterError } from '#base';
export { defineAgent } from '#core/orchestration';
export { openCloister } from './open-cloister.ts';
export type { CloisterOptions } from './open-cloister.ts';
export type {
  Agent,
  AgentOptions,
  AuditReport,
  Budget,
  BuiltinTool,
  Cloister,
  DurableEvent,
  Explanation,
  Limits,
  Model,
  Outcome,
  Price,
  RunEvent,
  RunOptions,
  RunOutcome,
  RunReport,
  RunSession,
  RunSummary,
  Spent,
  Status,
  ToolDefinition,
  ToolOutput,
} from '#contracts';
export type { ErrorClass, ErrorCode, Failure } from '#base';
