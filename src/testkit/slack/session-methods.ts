// agents.sessions.setStatus and agents.sessions.rename.
import type { Json, JsonObject } from '#base';
import { findChannel, sessionKey, SlackRefusal, textField } from './workspace.ts';
import type { SlackSession, Workspace } from './workspace.ts';

const statuses = new Set<unknown>(['active', 'processing', 'suspended', 'closed']);
const titleMax = 200;

export const setStatus = (workspace: Workspace, args: JsonObject): JsonObject => {
  const { channel, thread } = findThread(workspace, args);
  const title = args['title'];
  if (title !== undefined && !isTitle(title)) throw new SlackRefusal('invalid_arguments');
  const given = {
    ...(isTitle(title) ? { title } : {}),
    ...(typeof args['initiator_user_id'] === 'string' ? { initiator: args['initiator_user_id'] } : {}),
  };
  const session = setSessionStatus(workspace, channel, thread, args['status'], given);
  return { status: session.status, title: session.title };
};

export const renameSession = (workspace: Workspace, args: JsonObject): JsonObject => {
  const { channel, thread } = findThread(workspace, args);
  const { title } = args;
  if (!isTitle(title) || title === '') throw new SlackRefusal('invalid_arguments');
  const session = workspace.sessions.get(sessionKey(channel, thread));
  if (session === undefined) throw new SlackRefusal('session_not_found');
  workspace.sessions.set(sessionKey(channel, thread), { ...session, title });
  return { title };
};

/** Creates the session if there is none; title and initiator are ignored if there is one. */
export const setSessionStatus = (
  workspace: Workspace,
  channel: string,
  thread: string,
  status: Json | undefined,
  given: { readonly title?: string; readonly initiator?: string } = {},
): SlackSession => {
  if (!statuses.has(status)) throw new SlackRefusal('invalid_arguments');
  const key = sessionKey(channel, thread);
  const known = workspace.sessions.get(key) ?? { channel, thread, title: '', initiator: '', ...given };
  const session: SlackSession = { ...known, status: textField(status) };
  workspace.sessions.set(key, session);
  return session;
};

const isTitle = (title: Json | undefined): title is string => typeof title === 'string' && title.length <= titleMax;

const findThread = (workspace: Workspace, args: JsonObject): { readonly channel: string; readonly thread: string } => {
  const channel = findChannel(workspace, args['channel_id']);
  const thread = args['thread_ts'];
  if (typeof thread !== 'string' || !channel.messages.has(thread)) throw new SlackRefusal('invalid_thread_ts');
  return { channel: channel.id, thread };
};
