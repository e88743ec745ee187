// What a config needs of its app in Slack, and the manifest that sets it up.
import type { JsonObject } from '#base';
import type { SlackAppNeeds, SlackConfig } from '#contracts';

export const slackAppNeeds = (config: SlackConfig): SlackAppNeeds => {
  const { appToken, channels = {}, dm = 'refuse', approvers = [] } = config;
  const isInChannels = Object.values(channels).some((route) => route !== 'refuse');
  const needs: readonly (readonly [needed: boolean, scopes: readonly string[], events: readonly string[]])[] = [
    // An app that is an agent has sessions, with their status and their Stop button.
    [true, ['assistant:write', 'chat:write', 'commands', 'files:write'], ['agent_session_stopped']],
    // Replies in a thread mention nobody.
    [
      isInChannels,
      ['app_mentions:read', 'channels:history', 'groups:history'],
      ['app_mention', 'message.channels', 'message.groups'],
    ],
    [dm !== 'refuse', ['im:history'], ['message.im']],
    [approvers.some((one) => one.startsWith('group:')), ['usergroups:read'], []],
  ];
  const given = needs.filter(([needed]) => needed);
  return {
    transport: appToken === undefined ? 'http' : 'socket',
    scopes: given.flatMap(([, scopes]) => scopes).sort(),
    events: given.flatMap(([, , events]) => events).sort(),
  };
};

type ManifestOptions = {
  /** The name of the app. */
  readonly name: string;
  /** Where Slack reaches `/slack/events`; not for Socket Mode. */
  readonly requestUrl: string | null;
};

/** To be pasted where Slack creates an app, or changes one. */
export const slackManifest = (config: SlackConfig, { name, requestUrl }: ManifestOptions): JsonObject => {
  const { transport, scopes, events } = slackAppNeeds(config);
  const { command, dm = 'refuse' } = config;
  const url = transport === 'http' && requestUrl !== null ? { url: requestUrl } : {};
  const request = transport === 'http' && requestUrl !== null ? { request_url: requestUrl } : {};
  return {
    display_information: { name, description: 'Agents that answer in threads' },
    features: {
      agent_view: { agent_description: `${name} answers in threads, and shows what its agents do.` },
      app_home: {
        home_tab_enabled: false,
        messages_tab_enabled: dm !== 'refuse',
        messages_tab_read_only_enabled: false,
      },
      bot_user: { display_name: name, always_online: true },
      shortcuts: [
        { name: `Ask ${name}`.slice(0, 24), type: 'message', callback_id: 'ask', description: 'Answer this message' },
      ],
      ...(command === undefined
        ? {}
        : {
            slash_commands: [
              { command, description: `Ask ${name}`, usage_hint: 'your request', should_escape: true, ...url },
            ],
          }),
    },
    oauth_config: { scopes: { bot: [...scopes] } },
    settings: {
      event_subscriptions: { bot_events: [...events], ...request },
      interactivity: { is_enabled: true, ...request },
      org_deploy_enabled: false,
      socket_mode_enabled: transport === 'socket',
      token_rotation_enabled: false,
    },
  };
};
