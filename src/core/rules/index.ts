// The named rules: small, pure and versioned. The window renders prompts with them, and the audit rebuilds prompts with them.
import type { RuleName } from '#contracts';
import { answeredRule, deniedRule, editedRule } from './answers.ts';
import { attachmentRule } from './attachment.ts';
import { childResultRule } from './child-result.ts';
import { compactRule, recapRule, summaryRule } from './compact.ts';
import {
  datedSystemRule,
  givenToolRule,
  goalRule,
  lastTurnRule,
  listedToolRule,
  repairRule,
  replyRule,
  systemRule,
  toolRule,
  toolResultRule,
} from './dialog.ts';
import { gatherRule } from './gather.ts';
import { historyRule, omittedHistoryRule, noteRule, sharedSystemRule, shareRule } from './history.ts';
import { deferredRule, mailRule, receivedRule, routedRule } from './mail.ts';
import type { Rule } from './rule.ts';
import { shortenRule } from './shorten.ts';
import { dependencyRule, synthesisRule, taskRule, taskMessagesRule } from './tasks.ts';

export const rules = {
  'system@1': systemRule,
  'system@2': datedSystemRule,
  'tool@1': toolRule,
  'listed-tool@1': listedToolRule,
  'given-tool@1': givenToolRule,
  'goal@1': goalRule,
  'reply@1': replyRule,
  'tool-result@1': toolResultRule,
  'child-result@1': childResultRule,
  'gather@1': gatherRule,
  'compact@1': compactRule,
  'recap@1': recapRule,
  'summary@1': summaryRule,
  'shorten@1': shortenRule,
  'history@1': historyRule,
  'left-out@1': omittedHistoryRule,
  'share@1': shareRule,
  'shared-system@1': sharedSystemRule,
  'note@1': noteRule,
  'attachment@1': attachmentRule,
  'mail@1': mailRule,
  'received@1': receivedRule,
  'deferred@1': deferredRule,
  'routed@1': routedRule,
  'task@1': taskRule,
  'dependency@1': dependencyRule,
  'task-messages@1': taskMessagesRule,
  'synthesis@1': synthesisRule,
  'denied@1': deniedRule,
  'answered@1': answeredRule,
  'edited@1': editedRule,
  'last-turn@1': lastTurnRule,
  'repair@1': repairRule,
} as const satisfies Record<RuleName, Rule>;

export type KnownRule = keyof typeof rules;

export { fileReferences, isGoalFile, leftOutReason, unsupportedType } from './attachment.ts';
export type { FileReference } from './attachment.ts';
export { exceedsPreview } from './child-result.ts';
export { callInput, fillDate, usesDateVariables } from './dialog.ts';
export { longTexts } from './long-texts.ts';
export { isLongMail, mailOutputName, mailBody } from './mail.ts';
export { dataFrame } from './data-frame.ts';
export { numberDuplicates } from './merge-results.ts';
export { bytesForEach, cutBytes, outputName, preview, previewBytesMax } from './preview.ts';
export {
  readDependency,
  dependencyOutputName,
  dependencyText,
  truncateHandover,
  messagesText,
  resultOutputName,
  synthesisText,
} from './tasks.ts';
export { isMadeBy, recordedVersions, ruleFamily, ruleInFormat, versionsByFormat } from './recorded-versions.ts';
export { partText } from './part-text.ts';
export type { ResolvedSource } from './rule.ts';
export { holdRules, replyTokensMin, thinkingTokens } from './hold-estimate.ts';
export type { HoldRules, ReplyCap, ReplyShare } from './hold-estimate.ts';
export { addMarks, approvalMark, strictestRule } from './approval-mark.ts';
export { sourceToolName, toToolName } from './tool-name.ts';
