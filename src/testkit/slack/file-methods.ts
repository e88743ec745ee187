// files.getUploadURLExternal, the upload itself, files.completeUploadExternal.
import { isObject, utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import { addMessage, findChannel, SlackRefusal } from './workspace.ts';
import type { SlackUpload, Workspace } from './workspace.ts';

/** `uploadAt`: where files are sent to, before the id. */
export const prepareUpload = (workspace: Workspace, args: JsonObject, uploadAt: string): JsonObject => {
  const { filename } = args;
  const length = Number(args['length']);
  if (typeof filename !== 'string' || filename === '') throw new SlackRefusal('invalid_arguments');
  if (!Number.isInteger(length) || length <= 0) throw new SlackRefusal('invalid_arguments');
  const id = workspace.nextId('F');
  const none = { text: undefined, title: filename, channel: '', thread: '', isComplete: false };
  workspace.uploads.set(id, { id, name: filename, length, ...none });
  return { upload_url: `${uploadAt}${id}`, file_id: id };
};

/** What is sent to the upload address. */
export const receiveUpload = (workspace: Workspace, id: string, text: string): void => {
  const upload = workspace.uploads.get(id);
  if (upload === undefined || upload.isComplete) throw new SlackRefusal('file_not_found');
  if (utf8Bytes(text) !== upload.length) throw new SlackRefusal('invalid_arguments');
  workspace.uploads.set(id, { ...upload, text });
};

export const completeUpload = (workspace: Workspace, args: JsonObject): JsonObject => {
  const files = Array.isArray(args['files']) ? (args['files'] as readonly Json[]) : [];
  if (files.length === 0) throw new SlackRefusal('invalid_arguments');
  const channel = args['channel_id'] === undefined ? undefined : findChannel(workspace, args['channel_id']);
  const thread = typeof args['thread_ts'] === 'string' ? args['thread_ts'] : undefined;
  if (thread !== undefined && channel?.messages.has(thread) !== true) throw new SlackRefusal('invalid_thread_ts');
  const uploads = files.map((one) => readUpload(workspace, one));
  for (const upload of uploads)
    workspace.uploads.set(upload.id, { ...upload, channel: channel?.id ?? '', thread: thread ?? '', isComplete: true });
  if (channel !== undefined) {
    const text = typeof args['initial_comment'] === 'string' ? args['initial_comment'] : '';
    addMessage(workspace, channel, { user: workspace.ids.botUser, thread, text, files: uploads.map(({ id }) => id) });
  }
  return { files: uploads.map(({ id, title }) => ({ id, title })) };
};

const readUpload = (workspace: Workspace, file: Json): SlackUpload => {
  const id = isObject(file) ? file['id'] : undefined;
  const upload = typeof id === 'string' ? workspace.uploads.get(id) : undefined;
  if (upload === undefined || upload.isComplete) throw new SlackRefusal('file_not_found');
  if (upload.text === undefined) throw new SlackRefusal('file_update_failed');
  const title = isObject(file) && typeof file['title'] === 'string' ? file['title'] : upload.name;
  return { ...upload, title };
};
