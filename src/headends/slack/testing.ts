// What only tests use of this folder.
export { CallQueue } from './call-queue.ts';
export { cutText, fromSlackText, showHidden, toPlainText } from './slack-text.ts';
export { toMrkdwn, toSlackMarkdown } from './slack-markdown.ts';
export { ThreadWriteRefusal } from './thread-editor.ts';
export { ThreadWriter } from './thread-writer.ts';
export type { QueuedCall } from './call-queue.ts';
export type { SlackApi, SlackReply } from './slack-api.ts';
export type { TaskCard, ThreadView } from './thread-view.ts';
