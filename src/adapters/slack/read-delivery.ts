// What Slack sends, over either transport, as a delivery.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { SlackDelivery } from '#contracts';

/**
 * Null for whatever is not for the app in this team: other workspaces, also people of others in shared channels, and kinds of payloads
 * that no app of ours asks for.
 */
export const readDelivery = (payload: JsonObject, team: string, retry: number): SlackDelivery | null => {
  if (payload['type'] === 'event_callback') return readEvent(payload, team, retry);
  const person = isObject(payload['user']) ? payload['user']['team_id'] : undefined;
  const own = isObject(payload['team']) ? payload['team']['id'] : payload['team_id'];
  if (own !== team || (person !== undefined && person !== team)) return null;
  const id = textOf(payload['trigger_id']) ?? textOf(isObject(payload['view']) ? payload['view']['id'] : undefined);
  const type = typeof payload['command'] === 'string' ? 'command' : interactionTypes[textOf(payload['type']) ?? ''];
  return id === undefined || type === undefined ? null : { type, id, payload };
};

const interactionTypes: Readonly<Record<string, Exclude<SlackDelivery['type'], 'event'>>> = {
  block_actions: 'action',
  view_submission: 'view',
  message_action: 'shortcut',
  shortcut: 'shortcut',
};

const readEvent = (payload: JsonObject, team: string, retry: number): SlackDelivery | null => {
  const { team_id: own, event_id: id, event } = payload;
  if (own !== team || typeof id !== 'string' || !isObject(event)) return null;
  const isForeign = ['user_team', 'source_team'].some((key) => event[key] !== undefined && event[key] !== team);
  return isForeign ? null : { type: 'event', id, team, event, retry };
};

const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);
