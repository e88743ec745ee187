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
  'last-turn@1': lastTurn,
  'repair@1': repair,
} as const satisfies Record<RuleName, Rule>;

export type KnownRule = keyof typeof rules;

export { isLong } from './children.ts';
export { isLongMail, mailOutput, mailText, receivedText } from './mail.ts';
export { isDated } from './dates.ts';
export { dataFrame } from './data-frame.ts';
export { gatheredText, mergeFindings, names } from './gather.ts';
export type { Finding } from './gather.ts';
export { cutBytes, outputName, preview, previewBytesMax } from './preview.ts';
export { failureText } from './dialog.ts';
export type { Resolved, Rule } from './rule.ts';
