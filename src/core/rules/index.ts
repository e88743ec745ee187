// The named rules: small, pure, versioned. The window renders with them, the audit rebuilds with them.
import type { RuleName } from '#contracts';
import { childResult } from './children.ts';
import { compact, recap, summary } from './compact.ts';
import { datedSystem, goal, lastTurn, listedTool, repair, reply, system, tool, toolResult } from './dialog.ts';
import { gather } from './gather.ts';
import { history, leftOut, note, share } from './given.ts';
import { mail, received, routed } from './mail.ts';
import type { Rule } from './rule.ts';
import { shorten } from './shorten.ts';
import { dependency, synthesis, task, taskMessages } from './tasks.ts';

export const rules = {
  'system@1': system,
  'system@2': datedSystem,
  'tool@1': tool,
  'listed-tool@1': listedTool,
  'goal@1': goal,
  'reply@1': reply,
  'tool-result@1': toolResult,
  'child-result@1': childResult,
  'gather@1': gather,
  'compact@1': compact,
  'recap@1': recap,
  'summary@1': summary,
  'shorten@1': shorten,
  'history@1': history,
  'left-out@1': leftOut,
  'share@1': share,
  'note@1': note,
  'mail@1': mail,
  'received@1': received,
  'routed@1': routed,
  'task@1': task,
  'dependency@1': dependency,
  'task-messages@1': taskMessages,
  'synthesis@1': synthesis,
  'last-turn@1': lastTurn,
  'repair@1': repair,
} as const satisfies Record<RuleName, Rule>;

export type KnownRule = keyof typeof rules;

export { isLong } from './children.ts';
export { isLongMail, mailOutput, mailText, receivedText } from './mail.ts';
export { isDated } from './dates.ts';
export { dataFrame } from './data-frame.ts';
export { gatheredText, names } from './gather.ts';
export { mergeFindings } from './findings.ts';
export type { Finding } from './findings.ts';
export { cutBytes, outputName, preview, previewBytesMax } from './preview.ts';
export {
  dependencyOf,
  dependencyOutput,
  dependencyText,
  handedOn,
  messagesText,
  resultOutput,
  synthesisText,
  taskText,
} from './tasks.ts';
export type { Dependency } from './tasks.ts';
export { failureText } from './dialog.ts';
export type { Resolved, Rule } from './rule.ts';
