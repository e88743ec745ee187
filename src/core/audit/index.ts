export { auditRun } from './audit-run.ts';
export { diffRuns } from './diff-runs.ts';
export { explainCell } from './explain-cell.ts';
export { shownCalls } from './shown-calls.ts';
export { followWrittenFiles, writtenFiles } from './written-files.ts';
export { inheritedBy, turnFiles } from './turn-files.ts';
export type { CellFiles, WrittenFile } from './written-files.ts';
