// The library: `import { openCloister, defineAgent } from 'cloister'`.
export { CloisterError } from '#base';
export { defineAgent } from '#core/orchestration';
export { openCloister } from './open-cloister.ts';
export type { CloisterOptions } from './cloister-options.ts';
export type {
  Agent,
  AgentOptions,
  CheckReport,
  AuditReport,
  Budget,
  BuiltinTool,
  Cloister,
  DurableEvent,
  Explanation,
  Figures,
  ForkOptions,
  Limits,
  Model,
  ModelFigures,
  Outcome,
  Price,
  Problem,
  ReplayReport,
  RunDiff,
  RunEvent,
  RunOptions,
  RunOutcome,
  RunReport,
  RunSession,
  RunSummary,
  Spent,
  Status,
  ToolDefinition,
  ToolFigures,
  ToolOutput,
  ToolSource,
  Traffic,
  VerifyReport,
} from '#contracts';
export type { ErrorClass, ErrorCode, Failure } from '#base';
