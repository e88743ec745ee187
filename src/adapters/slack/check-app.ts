// Whether the app is the one that the config describes: its tokens, its workspace, its scopes.
import { CloisterError, isObject } from '#base';
import type { JsonObject } from '#base';
import type { SlackApi } from '#contracts';

type SlackIdentity = {
  /** The bot user's id. */
  readonly user: string;
  /** The name of the workspace. */
  readonly teamName: string;
};

/** Null: Slack cannot be reached now. Throws `slack_failed`. */
export const identifyApp = async (
  api: SlackApi,
  { team, scopes }: { readonly team: string; readonly scopes: readonly string[] },
): Promise<SlackIdentity | null> => {
  const reply = await api.call('auth.test', {});
  if (reply.kind === 'refused') throw appFailure(reply.error, 'botToken');
  if (reply.kind !== 'ok') return null;
  const { team_id: id, team: name, user_id: user } = reply.body;
  if (id !== team)
    throw new CloisterError(
      'slack_failed',
      `The bot token belongs to the workspace ${typeof id === 'string' ? id : 'of another kind'}, but \`slack.team\` is ${team}.`,
    );
  const missing = missingScopes(reply.body, scopes);
  if (missing.length > 0)
    throw new CloisterError(
      'slack_failed',
      `The app lacks scopes: ${missing.join(', ')}. Paste the manifest of \`cloister slack manifest\` into the app's settings, and install the app again.`,
    );
  if (typeof user !== 'string') throw new CloisterError('slack_failed', 'Slack does not say who the bot user is.');
  return { user, teamName: typeof name === 'string' ? name : team };
};

/** The scopes that Slack tells with its answer; without that, nothing is known to be missing. */
const missingScopes = ({ response_metadata: metadata }: JsonObject, needed: readonly string[]): readonly string[] => {
  const granted = isObject(metadata) ? metadata['scopes'] : undefined;
  return Array.isArray(granted) ? needed.filter((scope) => !granted.includes(scope)) : [];
};

/** `field`: of the config. */
export const appFailure = (error: string, field: 'botToken' | 'appToken'): CloisterError =>
  new CloisterError(
    'slack_failed',
    `Slack refuses \`slack.${field}\`: ${error}. ${advice[error] ?? defaultAdvice(field)}`,
  );

const advice: Readonly<Record<string, string>> = {
  not_allowed_token_type: 'It is the other kind of token: botToken begins with xoxb-, appToken with xapp-.',
  account_inactive: 'The app was removed from the workspace. Install it again.',
  token_revoked: 'Install the app again, and use the new token.',
  missing_scope: 'The app-level token needs the scope connections:write.',
};

const defaultAdvice = (field: 'botToken' | 'appToken'): string =>
  field === 'botToken'
    ? 'Copy the bot user OAuth token (xoxb-…) from “OAuth & Permissions” of the app.'
    : 'Create an app-level token (xapp-…) with connections:write under “Basic Information” of the app.';
