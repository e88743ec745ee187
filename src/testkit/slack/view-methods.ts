// views.open, views.push and views.update; a dialog closes when it is submitted without errors.
import type { Json, JsonObject } from '#base';
import { checkView } from './check-blocks.ts';
import { SlackRefusal } from './workspace.ts';
import type { SlackView, Workspace } from './workspace.ts';

export const openView = (workspace: Workspace, args: JsonObject): JsonObject => {
  const user = takeTrigger(workspace, args['trigger_id']);
  const view = checkView(args['view']);
  return { view: wireView(workspace, addView(workspace, user, view)) };
};

export const updateView = (workspace: Workspace, args: JsonObject): JsonObject => {
  const id = args['view_id'];
  const known = typeof id === 'string' ? workspace.views.get(id) : undefined;
  if (known === undefined || !known.isOpen) throw new SlackRefusal('not_found');
  if (args['hash'] !== undefined && args['hash'] !== known.hash) throw new SlackRefusal('hash_conflict');
  return { view: wireView(workspace, replaceView(workspace, known, checkView(args['view']))) };
};

export const addView = (workspace: Workspace, user: string, view: JsonObject): SlackView => {
  const one: SlackView = { id: workspace.nextId('V'), user, hash: hashOf(workspace), isOpen: true, view };
  workspace.views.set(one.id, one);
  return one;
};

export const replaceView = (workspace: Workspace, known: SlackView, view: JsonObject): SlackView => {
  const changed: SlackView = { ...known, hash: hashOf(workspace), view };
  workspace.views.set(known.id, changed);
  return changed;
};

/** As payloads and answers have it. */
export const wireView = ({ ids }: Workspace, { id, hash, view }: SlackView): JsonObject => ({
  id,
  team_id: ids.team,
  app_id: ids.app,
  bot_id: ids.bot,
  hash,
  root_view_id: id,
  private_metadata: '',
  callback_id: '',
  ...view,
  state: { values: {} },
});

const hashOf = (workspace: Workspace): string => `${Math.floor(workspace.now() / 1000)}.${workspace.nextId('h')}`;

/** A trigger opens one dialog, within three seconds. */
const takeTrigger = (workspace: Workspace, trigger: Json | undefined): string => {
  const known = typeof trigger === 'string' ? workspace.triggers.get(trigger) : undefined;
  if (typeof trigger !== 'string' || known === undefined) throw new SlackRefusal('invalid_trigger_id');
  if (workspace.now() > known.until) throw new SlackRefusal('expired_trigger_id');
  workspace.triggers.delete(trigger);
  return known.user;
};
