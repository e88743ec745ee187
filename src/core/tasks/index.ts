export { checkTasks, parseTasks } from './check-tasks.ts';
export type { KnownTasks } from './check-tasks.ts';
export { isFinal } from './dependency-outcomes.ts';
export { patterns } from './patterns.ts';
export { readPlan } from './read-task.ts';
export { SharedMemory } from './shared-memory.ts';
export { TaskQueue } from './task-queue.ts';
export {
  abortedReason,
  refusalReason,
  taskRefusedOperation,
  resultReason,
  skipRestOperation,
  taskSummary,
} from './task-reasons.ts';
export { drawMermaid } from './draw-mermaid.ts';
export { drawSvg } from './draw-svg.ts';
export { newestTeamTexts, teamTextsByVersion } from './team-texts.ts';
export type { TeamTexts } from './team-texts.ts';
export { missingTasks, missingLines, missingSection, resultsText } from './task-texts.ts';
export { collectTasks, followTasks } from './task-states.ts';
export type { TaskFold, TeamState } from './task-states.ts';
