// The `slack` block of the config: which app, which agent answers where, and what people may do.
import { about, either, listOf, mapOf, boolean, object, oneOf, pattern, whole, withRules } from '#base/shapes';
import type { Of, RuleBreach, Shape } from '#base/shapes';
import { agentNameShape, expandableText, textRule } from './shapes.ts';
import { personLimits, slackCallerPattern, withBudgetForAllowance } from './token.ts';

const teamShape = pattern('^[TE][A-Z0-9]{1,20}$', 'the id of a workspace, such as T0123ABCD');

/** Where an agent answers. */
const routeFields = {
  resident: about(boolean(), 'The agent of a thread is long-lived: it may write unasked.', { default: false }),
  history: about(
    whole(1, 200),
    'How many earlier messages of the channel the agent is shown with the first request of a thread.',
    { otherwise: 'none: only the thread itself' },
  ),
};

const channelShape = object(
  { agent: agentNameShape },
  {
    when: about(
      oneOf('mention', 'all'),
      '`mention`: it answers whoever mentions it, and replies in those threads. `all`: also every other message.',
      { default: 'mention' },
    ),
    ...routeFields,
  },
);

const secretText = textRule(expandableText, 'Expected a text that is not empty.', (written) => written.trim() !== '');

const plainHttpUrl = textRule(
  pattern('^https?://', 'a URL that starts with https://'),
  'Expected a URL.',
  URL.canParse.bind(URL),
);

const refuse: Shape<'refuse'> = {
  ...oneOf('refuse'),
  hint: () => 'Expected "refuse", or an object such as { "agent": "lead" }.',
};

const withoutAgent = 'an object such as { "agent": "lead" }, or "refuse"';

const approverShape = pattern('^(?:[UW][A-Z0-9]{1,20}|group:S[A-Z0-9]{1,20})$', 'the id of a person (U…), or group:S…');

/** As it is written: `botToken`, `appToken` and `signingSecret` may contain `${VAR}`. */
export const slackConfigShape = withRules(
  object(
    {
      botToken: about(secretText, 'The token of the app’s bot user (xoxb-…).'),
      team: about(teamShape, 'The workspace. Other workspaces are refused.'),
    },
    {
      appToken: about(secretText, 'For Socket Mode: the app-level token (xapp-…).'),
      signingSecret: about(secretText, 'For HTTP: what requests to /slack/events are signed with.'),
      channels: about(
        mapOf(
          either(withoutAgent, refuse, channelShape),
          pattern('^(?:\\*|[CG][A-Z0-9]{1,20})$', 'the id of a channel (C…), or *'),
        ),
        'Who answers in which channel; `*` for all others.',
        { otherwise: 'nobody' },
      ),
      dm: about(
        either(withoutAgent, refuse, object({ agent: agentNameShape }, routeFields)),
        'Who answers direct messages.',
        {
          otherwise: 'nobody',
        },
      ),
      command: about(
        pattern('^/[a-z0-9_-]{1,31}$', 'a slash command such as /ask'),
        'A slash command that asks the agent of the channel.',
      ),
      people: about(withBudgetForAllowance(object({}, personLimits)), 'What each person may do.'),
      approvers: about(
        listOf(approverShape),
        'Who may answer the questions of everybody’s runs: people, and user groups (group:S…).',
        { otherwise: 'none: everybody answers those of their own runs' },
      ),
      apiUrl: about(plainHttpUrl, 'Where Slack’s web API is.', { default: 'https://slack.com/api/' }),
    },
  ),
  { find: transportProblem },
);

/** In the config as it is written; otherwise with the values of its variables. */
export type SlackConfig = Of<typeof slackConfigShape>;

/** The agents that its routes name, with the path of each. */
export const slackAgents = ({
  channels = {},
  dm,
}: SlackConfig): readonly { readonly agent: string; readonly path: readonly string[] }[] =>
  [
    ...Object.entries(channels).map(([channel, route]) => ({ route, path: ['channels', channel, 'agent'] })),
    ...(dm === undefined ? [] : [{ route: dm, path: ['dm', 'agent'] }]),
  ].flatMap(({ route, path }) => (route === 'refuse' ? [] : [{ agent: route.agent, path }]));

/** A person in Slack, as a caller. */
export const slackCallerName = (team: string, user: string): string => `slack:${team}/${user}`;

/** Null for other callers. */
export const parseSlackCaller = (name: string): { readonly team: string; readonly user: string } | null => {
  const [, team, user] = new RegExp(`^${slackCallerPattern}$`, 'u').exec(name) ?? [];
  return team === undefined || user === undefined ? null : { team, user };
};

type Transport = { readonly appToken?: string; readonly signingSecret?: string };

function transportProblem({ appToken, signingSecret }: Transport): RuleBreach | null {
  if (appToken === undefined && signingSecret === undefined)
    return { text: 'Set `appToken` to receive events over Socket Mode, or `signingSecret` to receive them over HTTP.' };
  if (appToken === undefined || signingSecret === undefined) return null;
  return {
    at: ['signingSecret'],
    text: 'Omit it, or `appToken`: with an app-level token, Slack sends nothing over HTTP.',
  };
}
