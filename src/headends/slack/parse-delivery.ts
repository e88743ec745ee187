// Reads what Slack delivers. Whatever is not for us, or has not the form that Slack documents, is ignored.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { SlackDelivery } from './slack-api.ts';
import { isMessageTs, isSlackId } from './slack-place.ts';
import type { ThreadAddress } from './slack-place.ts';
import { fromSlackText, mentionsUser } from './slack-text.ts';

/** Who we are in Slack. */
export type AppIdentity = { readonly team: string; readonly bot: string };

type Writer = ThreadAddress & { readonly user: string };

/**
 * `message`: a person wrote to us or, if it is `plain`, perhaps to us. `opening`: a slash command or a shortcut, for
 * which we write the first message of a thread. `stop`: whatever runs in the thread is to stop.
 */
export type PersonRequest =
  | (Writer & {
      readonly type: 'message';
      readonly message: string;
      readonly how: 'mention' | 'direct' | 'plain';
      /** It is a reply to a message of the same person. */
      readonly isToSelf: boolean;
      readonly text: string;
    })
  | {
      readonly type: 'opening';
      /** Slack shows its writer what the acknowledgement says, in any channel. */
      readonly isCommand: boolean;
      readonly id: string;
      readonly team: string;
      readonly channel: string;
      readonly user: string;
      readonly text: string;
    }
  | (Writer & { readonly type: 'stop'; readonly message: string })
  | ButtonPress
  | FormSubmission;

/** Somebody pressed a button, in a message or, with `view`, in a dialog. */
export type ButtonPress = {
  readonly type: 'press';
  readonly team: string;
  readonly user: string;
  readonly action: string;
  readonly value: string;
  readonly trigger: string;
  /** The dialog in which it was pressed. */
  readonly view: string | null;
  readonly place: ThreadAddress | null;
};

/** Somebody sent a dialog. `fields`: what was written or chosen, by the name of the field. */
export type FormSubmission = {
  readonly type: 'form';
  readonly team: string;
  readonly user: string;
  readonly form: string;
  readonly value: string;
  readonly fields: Readonly<Record<string, string>>;
};

/** Undefined: there is nothing to do. */
export const parseDelivery = (delivery: SlackDelivery, me: AppIdentity): PersonRequest | undefined => {
  switch (delivery.type) {
    case 'event':
      return delivery.team === me.team ? parseEvent(delivery.event, me) : undefined;
    case 'command':
      return parseCommand(delivery.id, delivery.payload, me);
    case 'shortcut':
      return parseShortcut(delivery.id, delivery.payload, me);
    case 'action':
      return parseAction(delivery.payload, me);
    case 'view':
      return parseView(delivery.payload, me);
  }
};

const parseEvent = (event: JsonObject, me: AppIdentity): PersonRequest | undefined => {
  const { type, channel, user } = event;
  if (!isSlackId(channel) || !isSlackId(user) || user === me.bot) return undefined;
  if (type === 'agent_session_stopped') {
    const { thread_ts: thread, event_ts: at } = event;
    if (!isMessageTs(thread)) return undefined;
    return { type: 'stop', team: me.team, channel, user, thread, message: isMessageTs(at) ? at : thread };
  }
  return type === 'app_mention' || type === 'message' ? parseMessage(event, { ...me, channel, user }) : undefined;
};

/** Whether the person wrote nothing but the word. */
const isStopWord = (plain: string): boolean => /^stop[.!]?$/iu.test(plain);

/** A message with files, and a reply that was also sent to the channel, are written like any other. */
const writtenSubtypes: readonly (Json | undefined)[] = [undefined, 'file_share', 'thread_broadcast'];

const parseMessage = (
  event: JsonObject,
  { team, bot, channel, user }: AppIdentity & { readonly channel: string; readonly user: string },
): PersonRequest | undefined => {
  const { ts, thread_ts: parent, text, subtype, bot_id: byBot, edited, user_team: from } = event;
  if (!isMessageTs(ts) || typeof text !== 'string' || !writtenSubtypes.includes(subtype)) return undefined;
  if (byBot !== undefined || edited !== undefined || event['hidden'] === true) return undefined;
  // People of other workspaces have no account here.
  if (from !== undefined && from !== team) return undefined;
  const isReply = isMessageTs(parent) && parent !== ts;
  const thread = isReply ? parent : ts;
  const isMention = event['type'] === 'app_mention' || mentionsUser(text, bot);
  const how = event['channel_type'] === 'im' ? 'direct' : isMention ? 'mention' : 'plain';
  const plain = fromSlackText(text, bot);
  const written = { team, channel, thread, user, message: ts };
  if (isReply && isStopWord(plain)) return { type: 'stop', ...written };
  const isToSelf = isReply && event['parent_user_id'] === user;
  return { type: 'message', ...written, how, isToSelf, text: plain };
};

const parseCommand = (id: string, payload: JsonObject, { team, bot }: AppIdentity): PersonRequest | undefined => {
  const { team_id: from, channel_id: channel, user_id: user, text } = payload;
  if (from !== team || !isSlackId(channel) || !isSlackId(user) || typeof text !== 'string') return undefined;
  return { type: 'opening', isCommand: true, id, team, channel, user, text: fromSlackText(text, bot) };
};

const parseShortcut = (id: string, payload: JsonObject, { team, bot }: AppIdentity): PersonRequest | undefined => {
  const [user, channel] = [idIn(payload, 'user'), idIn(payload, 'channel')];
  const { message } = payload;
  if (idIn(payload, 'team') !== team || channel === undefined || user === undefined || !isObject(message))
    return undefined;
  const { text } = message;
  if (typeof text !== 'string') return undefined;
  return { type: 'opening', isCommand: false, id, team, channel, user, text: fromSlackText(text, bot) };
};

const parseAction = (payload: JsonObject, { team }: AppIdentity): ButtonPress | undefined => {
  const { actions, trigger_id: trigger, view } = payload;
  const [user, channel] = [idIn(payload, 'user'), idIn(payload, 'channel')];
  const action: Json | undefined = Array.isArray(actions) ? (actions as readonly Json[])[0] : undefined;
  if (idIn(payload, 'team') !== team || user === undefined || !isObject(action)) return undefined;
  const { action_id: name, value } = action;
  if (typeof name !== 'string' || typeof value !== 'string' || typeof trigger !== 'string') return undefined;
  const thread = threadOfMessage(payload);
  return {
    type: 'press',
    team,
    user,
    action: name,
    value,
    trigger,
    view: isObject(view) && typeof view['id'] === 'string' ? view['id'] : null,
    place: channel === undefined || thread === undefined ? null : { team, channel, thread },
  };
};

const threadOfMessage = ({ message, container }: JsonObject): string | undefined => {
  const found = [isObject(message) ? message : {}, isObject(container) ? container : {}].flatMap(
    ({ thread_ts: thread, ts, message_ts: own }) => [thread, ts, own],
  );
  return found.find((one) => isMessageTs(one));
};

const parseView = (payload: JsonObject, { team }: AppIdentity): FormSubmission | undefined => {
  const user = idIn(payload, 'user');
  const { view } = payload;
  if (payload['type'] !== 'view_submission' || idIn(payload, 'team') !== team || user === undefined) return undefined;
  if (!isObject(view)) return undefined;
  const { callback_id: form, private_metadata: value } = view;
  if (typeof form !== 'string' || typeof value !== 'string') return undefined;
  return { type: 'form', team, user, form, value, fields: fieldsOf(view) };
};

const fieldsOf = ({ state }: JsonObject): Readonly<Record<string, string>> => {
  const blocks = isObject(state) && isObject(state['values']) ? state['values'] : {};
  const fields = Object.values(blocks).flatMap((block) => (isObject(block) ? Object.entries(block) : []));
  return Object.fromEntries(fields.flatMap(([name, field]) => (isObject(field) ? [[name, fieldText(field)]] : [])));
};

const fieldText = ({ value, selected_option: option }: JsonObject): string => {
  if (typeof value === 'string') return value;
  return isObject(option) && typeof option['value'] === 'string' ? option['value'] : '';
};

const idIn = (payload: JsonObject, name: string): string | undefined => {
  const found = payload[name];
  return isObject(found) && isSlackId(found['id']) ? found['id'] : undefined;
};
