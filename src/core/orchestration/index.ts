export {
  buildAgent,
  withOutputFormat,
  assertAgent,
  defineAgent,
  defineTool,
  startableAgents,
  toModel,
} from './define-agent.ts';
export { ownMarks } from './approval-marks.ts';
export { linkSpawns } from './link-spawns.ts';
export { agentMarker } from './mark-agents.ts';
export { lowerCaps } from '#core/cells';
export { modelShape } from './option-shapes.ts';
export { defineTeam, teamRoster, buildTeam } from './define-team.ts';
export { buildSynthesisPrompt, buildTaskPrompt } from './build-prompts.ts';
export { checkRequest, checkRunBudget, checkTeamRequest } from './check-request.ts';
export { addRequestTools } from './request-tools.ts';
export { splitServer } from './guidance.ts';
export { checkResume, resumeRun, startRun } from './run-agent.ts';
export type { ResumableRun } from './run-agent.ts';
export { cutFrames } from './cut-frames.ts';
export { forkFrames } from './fork-frames.ts';
export { checkTeamMember } from './external-mail.ts';
export { replayRun } from './replay-run.ts';
export type { Run } from './run.ts';
