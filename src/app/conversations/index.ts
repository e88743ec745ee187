// Conversations and checkpoints, and the checks of options that all of app shares.
export { buildHistory, dialogEntries } from './build-history.ts';
export {
  checkAddedContext,
  checkOptionType,
  checkOptions,
  optionsShape,
  parseRunId,
  redactContext,
  redactDialog,
  runOptions,
} from './check-options.ts';
export type { OptionFields } from './check-options.ts';
export { conversationRef } from './conversation-names.ts';
export { ConversationService } from './conversation-service.ts';
export { readConversationSettings } from './conversation-settings.ts';
export type { ConversationSettings } from './conversation-settings.ts';
export { exportFolder } from './export-folder.ts';
export { retentionDefault } from './retention.ts';
