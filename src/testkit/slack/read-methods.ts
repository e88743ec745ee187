// conversations.*, users.info, usergroups.users.list, auth.test.
import type { Json, JsonObject } from '#base';
import { wireMessage } from './message-body.ts';
import { directChannelOf, findChannel, openChannel, SlackRefusal, textField } from './workspace.ts';
import type { MessageState, Workspace } from './workspace.ts';

export const listReplies = (workspace: Workspace, args: JsonObject): JsonObject => {
  const channel = findChannel(workspace, args['channel']);
  const { ts } = args;
  const asked = typeof ts === 'string' ? channel.messages.get(ts) : undefined;
  if (asked === undefined) throw new SlackRefusal('thread_not_found');
  const parent = asked.thread ?? asked.ts;
  const replies = [...channel.messages.values()].filter((one) => one.ts === parent || one.thread === parent);
  // The first message of a thread is on the first page, whatever `oldest` says.
  const rest = replies.filter((one) => one.ts === parent || isBetween(one.ts, args));
  return page(workspace, rest, args);
};

export const listHistory = (workspace: Workspace, args: JsonObject): JsonObject => {
  const channel = findChannel(workspace, args['channel']);
  const shown = [...channel.messages.values()].filter(
    (one) => (one.thread === undefined || one.thread === one.ts) && isBetween(one.ts, args),
  );
  return page(workspace, shown.toReversed(), args);
};

export const openConversation = (workspace: Workspace, args: JsonObject): JsonObject => {
  const users = typeof args['users'] === 'string' ? args['users'].split(',') : [];
  const [user = ''] = users;
  if (users.length !== 1 || !workspace.people.has(user)) throw new SlackRefusal('user_not_found');
  const channel = openChannel(workspace, directChannelOf(user));
  channel.members.add(user);
  return { channel: { id: channel.id } };
};

export const findPerson = (workspace: Workspace, args: JsonObject): JsonObject => {
  const person = typeof args['user'] === 'string' ? workspace.people.get(args['user']) : undefined;
  if (person === undefined) throw new SlackRefusal('user_not_found');
  const { id, name, timeZone = 'Europe/Berlin' } = person;
  const profile = { real_name: name, display_name: name };
  const team = workspace.ids.team;
  return { user: { id, team_id: team, name, real_name: name, tz: timeZone, is_bot: false, deleted: false, profile } };
};

export const listGroup = (workspace: Workspace, args: JsonObject): JsonObject => {
  const users = typeof args['usergroup'] === 'string' ? workspace.groups.get(args['usergroup']) : undefined;
  if (users === undefined) throw new SlackRefusal('no_such_subteam');
  return { users };
};

export const testAuth = ({ ids }: Workspace): JsonObject => ({
  url: 'https://fake.slack.test/',
  team: 'Fake',
  user: 'app',
  team_id: ids.team,
  user_id: ids.botUser,
  bot_id: ids.bot,
  app_id: ids.app,
  is_enterprise_install: false,
});

const isBetween = (ts: string, args: JsonObject): boolean => {
  const [oldest, latest] = [Number(args['oldest'] ?? 0), Number(args['latest'] ?? Infinity)];
  const isInclusive = args['inclusive'] === true || args['inclusive'] === 1;
  const at = Number(ts);
  return isInclusive ? at >= oldest && at <= latest : at > oldest && at < latest;
};

const page = (workspace: Workspace, messages: readonly MessageState[], args: JsonObject): JsonObject => {
  const limit = Math.min(Number(args['limit'] ?? 100), 999);
  const from = readCursor(args['cursor']);
  const next = from + limit;
  const hasMore = next < messages.length;
  const withMetadata = args['include_all_metadata'] === true;
  return {
    messages: messages.slice(from, next).map((one) => wireMessage(workspace, one, withMetadata)),
    has_more: hasMore,
    response_metadata: { next_cursor: hasMore ? Buffer.from(`at:${next}`).toString('base64') : '' },
  };
};

const readCursor = (cursor: Json | undefined): number => {
  if (cursor === undefined || cursor === '') return 0;
  const [, at] = /^at:(\d+)$/u.exec(Buffer.from(textField(cursor), 'base64').toString()) ?? [];
  if (at === undefined) throw new SlackRefusal('invalid_cursor');
  return Number(at);
};
