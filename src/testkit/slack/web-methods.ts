// The methods of the web API, by name.
import type { JsonObject } from '#base';
import { addReaction, deleteMessage, postEphemeral, postMessage, updateMessage } from './chat-methods.ts';
import { completeUpload } from './file-methods.ts';
import { findPerson, listGroup, listHistory, listReplies, openConversation, testAuth } from './read-methods.ts';
import { renameSession, setStatus } from './session-methods.ts';
import { appendStream, startStream, stopStream } from './stream-methods.ts';
import { openView, updateView } from './view-methods.ts';
import type { Workspace } from './workspace.ts';

/** Returns the fields of the answer, or throws a `SlackRefusal` before anything has changed. */
type WebMethod = (workspace: Workspace, args: JsonObject) => JsonObject;

/** `apps.connections.open` and `files.getUploadURLExternal` are not here: their answers contain an address. */
export const webMethods: Readonly<Record<string, WebMethod>> = {
  'agents.sessions.rename': renameSession,
  'agents.sessions.setStatus': setStatus,
  'auth.test': testAuth,
  'chat.appendStream': appendStream,
  'chat.delete': deleteMessage,
  'chat.postEphemeral': postEphemeral,
  'chat.postMessage': postMessage,
  'chat.startStream': startStream,
  'chat.stopStream': stopStream,
  'chat.update': updateMessage,
  'conversations.history': listHistory,
  'conversations.open': openConversation,
  'conversations.replies': listReplies,
  'files.completeUploadExternal': completeUpload,
  'reactions.add': addReaction,
  'usergroups.users.list': listGroup,
  'users.info': findPerson,
  'views.open': openView,
  'views.push': openView,
  'views.update': updateView,
};
