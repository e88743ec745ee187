// What an app needs in Slack.
/** What the app must be allowed in Slack for a config to work. */
export type SlackAppNeeds = {
  readonly transport: 'socket' | 'http';
  /** Of the bot token. */
  readonly scopes: readonly string[];
  readonly events: readonly string[];
};
