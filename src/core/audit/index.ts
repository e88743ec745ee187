export { auditRun } from './audit-run.ts';
export type { AuditSources } from './audit-run.ts';
export { explainCell } from './explain-cell.ts';
export type { ProblemCode } from './problems.ts';
export { projectEvents } from './project-events.ts';
export type { EventFold } from './project-events.ts';
export { reportRun } from './report-run.ts';
