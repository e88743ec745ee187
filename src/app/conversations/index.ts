// Conversations and checkpoints.
export { buildHistory, dialogEntries } from './build-history.ts';
export { conversationRef } from './conversation-names.ts';
export { ConversationService } from './conversation-service.ts';
export { readConversationSettings, retentionDefault } from './conversation-settings.ts';
export type { ConversationSettings } from './conversation-settings.ts';
export type { RunCopies } from './run-copies.ts';
export { exportFolder } from './export-folder.ts';
