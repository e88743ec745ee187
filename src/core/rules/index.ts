// The named rules: small, pure, versioned. The window renders with them, the audit rebuilds with them.
import type { RuleName } from '#contracts';
import { childResult } from './child-result.ts';
import { compact, recap, summary } from './compact.ts';
import { datedSystem, goal, lastTurnRule, listedTool, repair, reply, system, tool, toolResult } from './dialog.ts';
import { gather } from './gather.ts';
import { history, omittedHistoryRule, noteRule, share } from './history.ts';
import { mail, receivedRule, routedRule } from './mail.ts';
import type { Rule } from './rule.ts';
import { shortenRule } from './shorten.ts';
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
  'shorten@1': shortenRule,
  'history@1': history,
  'left-out@1': omittedHistoryRule,
  'share@1': share,
  'note@1': noteRule,
  'mail@1': mail,
  'received@1': receivedRule,
  'routed@1': routedRule,
  'task@1': task,
  'dependency@1': dependency,
  'task-messages@1': taskMessages,
  'synthesis@1': synthesis,
  'last-turn@1': lastTurnRule,
  'repair@1': repair,
} as const satisfies Record<RuleName, Rule>;

export type KnownRule = keyof typeof rules;

export { exceedsPreview } from './child-result.ts';
export { isLongMail, mailOutput, mailText, receivedText } from './mail.ts';
export { usesDateVariables } from './dates.ts';
export { dataFrame } from './data-frame.ts';
export { gatheredText, numberDuplicates } from './gather.ts';
export { mergeFindings } from './findings.ts';
export type { Finding } from './findings.ts';
export { cutBytes, outputName, preview, previewBytesMax } from './preview.ts';
export {
  dependencyOf,
  dependencyOutput,
  dependencyText,
  truncateHandover,
  messagesText,
  resultOutput,
  synthesisText,
  taskText,
} from './tasks.ts';
export type { Dependency } from './tasks.ts';
export { failureText } from './dialog.ts';
export type { ResolvedSource, Rule } from './rule.ts';
