export { ScriptError } from './check-script.ts';
export { countingIds } from './counting-ids.ts';
export { readScript } from './read-script.ts';
export { rehearse, unscriptedText } from './rehearse.ts';
export type { Rehearsal, RehearsalOptions } from './rehearse.ts';
export { agentLine, agentNameIn } from './request-view.ts';
export type {
  Fault,
  Line,
  RequestView,
  Script,
  ScriptedCall,
  ScriptedReply,
  ScriptedUsage,
  ScriptWithSettings,
  ToolResultView,
  When,
} from './script.ts';
export { virtualClock } from './virtual-clock.ts';
export type { VirtualClock } from './virtual-clock.ts';
