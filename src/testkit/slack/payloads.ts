// What Slack sends to an app when people do something.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { wireMessage } from './message-body.ts';
import { wireView } from './view-methods.ts';
import { textField } from './workspace.ts';
import type { MessageState, SlackView, Workspace } from './workspace.ts';

/** The body of an event. */
export const eventPayload = (workspace: Workspace, event: JsonObject): JsonObject => {
  const { ids } = workspace;
  return {
    token: 'verification-token',
    team_id: ids.team,
    context_team_id: ids.team,
    context_enterprise_id: null,
    api_app_id: ids.app,
    event,
    type: 'event_callback',
    event_id: workspace.nextId('Ev'),
    event_time: Math.floor(workspace.now() / 1000),
    authorizations: [
      { enterprise_id: null, team_id: ids.team, user_id: ids.botUser, is_bot: true, is_enterprise_install: false },
    ],
    is_ext_shared_channel: false,
    event_context: workspace.nextId('4-'),
  };
};

/** `message.im`, `message.channels`, `message.groups` and `app_mention` of one message. */
export const messageEvent = (
  workspace: Workspace,
  message: MessageState,
  type: 'message' | 'app_mention',
): JsonObject => {
  const channel = workspace.channels.get(message.channel);
  const { parent_user_id: parent } = wireMessage(workspace, message);
  return {
    type,
    user: message.user,
    ts: message.ts,
    client_msg_id: workspace.nextId('msg-'),
    text: message.text,
    team: workspace.ids.team,
    ...(message.thread === undefined ? {} : { thread_ts: message.thread }),
    ...(parent === undefined ? {} : { parent_user_id: parent }),
    blocks: [
      {
        type: 'rich_text',
        block_id: workspace.nextId('b'),
        elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: message.text }] }],
      },
    ],
    channel: message.channel,
    event_ts: message.ts,
    ...(type === 'message' ? { channel_type: channel?.kind ?? 'channel' } : {}),
  };
};

/** Whoever acts, and where their trigger and answers go. */
type Actor = { readonly user: string; readonly trigger: string; readonly responseUrl: string };

export const commandPayload = (
  workspace: Workspace,
  { user, trigger, responseUrl }: Actor,
  given: { readonly channel: string; readonly command: string; readonly text: string },
): JsonObject => ({
  token: 'verification-token',
  team_id: workspace.ids.team,
  team_domain: 'fake',
  channel_id: given.channel,
  channel_name: workspace.channels.get(given.channel)?.kind === 'im' ? 'directmessage' : given.channel.toLowerCase(),
  user_id: user,
  user_name: workspace.people.get(user)?.name ?? user,
  command: given.command,
  text: given.text,
  api_app_id: workspace.ids.app,
  is_enterprise_install: 'false',
  response_url: responseUrl,
  trigger_id: trigger,
});

export const shortcutPayload = (
  workspace: Workspace,
  actor: Actor,
  message: MessageState,
  callback: string,
): JsonObject => ({
  ...interactionPayload(workspace, actor, 'message_action'),
  action_ts: workspace.nextTs(),
  callback_id: callback,
  message_ts: message.ts,
  channel: channelOf(workspace, message.channel),
  message: wireMessage(workspace, message),
  response_url: actor.responseUrl,
});

export const globalShortcutPayload = (workspace: Workspace, actor: Actor, callback: string): JsonObject => ({
  ...interactionPayload(workspace, actor, 'shortcut'),
  action_ts: workspace.nextTs(),
  callback_id: callback,
});

export const messageActionPayload = (
  workspace: Workspace,
  actor: Actor,
  message: MessageState,
  action: JsonObject,
): JsonObject => ({
  ...interactionPayload(workspace, actor, 'block_actions'),
  container: {
    type: 'message',
    message_ts: message.ts,
    channel_id: message.channel,
    is_ephemeral: message.onlyFor !== undefined,
    ...(message.thread === undefined ? {} : { thread_ts: message.thread }),
  },
  channel: channelOf(workspace, message.channel),
  ...(message.onlyFor === undefined ? { message: wireMessage(workspace, message) } : {}),
  state: { values: {} },
  response_url: actor.responseUrl,
  actions: [{ ...action, action_ts: workspace.nextTs() }],
});

export const viewActionPayload = (
  workspace: Workspace,
  actor: Actor,
  view: SlackView,
  action: JsonObject,
): JsonObject => ({
  ...interactionPayload(workspace, actor, 'block_actions'),
  container: { type: 'view', view_id: view.id },
  view: wireView(workspace, view),
  actions: [{ ...action, action_ts: workspace.nextTs() }],
});

export const submissionPayload = (
  workspace: Workspace,
  actor: Actor,
  view: SlackView,
  values: JsonObject,
): JsonObject => ({
  ...interactionPayload(workspace, actor, 'view_submission'),
  view: { ...wireView(workspace, view), state: { values } },
  response_urls: [],
});

const interactionPayload = (workspace: Workspace, { user, trigger }: Actor, type: string): JsonObject => {
  const { ids, people } = workspace;
  const name = people.get(user)?.name ?? user;
  return {
    type,
    team: { id: ids.team, domain: 'fake' },
    user: { id: user, username: name, name, team_id: ids.team },
    api_app_id: ids.app,
    token: 'verification-token',
    enterprise: null,
    is_enterprise_install: false,
    trigger_id: trigger,
  };
};

const channelOf = (workspace: Workspace, id: string): JsonObject => ({
  id,
  name: workspace.channels.get(id)?.kind === 'im' ? 'directmessage' : id.toLowerCase(),
});

/** The button or other element with this `action_id`, or with this text, as an action has it; undefined if none is shown. */
export const findAction = (blocks: Json | undefined, wanted: string): JsonObject | undefined => {
  if (!Array.isArray(blocks)) return undefined;
  for (const [index, block] of (blocks as readonly Json[]).entries()) {
    if (!isObject(block)) continue;
    const elements = [
      ...(Array.isArray(block['elements']) ? (block['elements'] as readonly Json[]) : []),
      block['accessory'],
    ];
    for (const element of elements)
      if (isObject(element) && (element['action_id'] === wanted || textOf(element['text']) === wanted))
        return { ...element, block_id: block['block_id'] ?? `block-${index}` };
  }
  return undefined;
};

const textOf = (text: Json | undefined): Json | undefined => (isObject(text) ? text['text'] : undefined);

/** What a person wrote into the inputs of a view, by `block_id` or `action_id`, as `state.values` has it. */
export const viewValues = ({ view }: SlackView, given: Readonly<Record<string, string>>): JsonObject => {
  const values: Record<string, JsonObject> = {};
  for (const [index, block] of (view['blocks'] as readonly Json[]).entries()) {
    const element = isObject(block) && block['type'] === 'input' ? block['element'] : undefined;
    if (!isObject(block) || !isObject(element)) continue;
    const blockId = textField(block['block_id'] ?? `block-${index}`);
    const actionId = textField(element['action_id'] ?? `action-${index}`);
    const text = given[blockId] ?? given[actionId] ?? element['initial_value'] ?? null;
    values[blockId] = { [actionId]: fieldValue(element, text) };
  }
  return values;
};

const fieldValue = (element: JsonObject, text: Json): JsonObject => {
  const { type } = element;
  if (type !== 'static_select' && type !== 'radio_buttons') return { type, value: text };
  const options = Array.isArray(element['options']) ? (element['options'] as readonly Json[]) : [];
  const option = options.find((one) => isObject(one) && one['value'] === text);
  return { type, selected_option: option ?? null };
};
