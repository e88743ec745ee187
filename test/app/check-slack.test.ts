// What `check` says about the `slack` block, what a server gets of it, and the manifest of its app.
import type { AppsManifestValidateArguments } from '@slack/web-api';
import { expect, test } from 'vitest';
import { openCloister } from 'cloister';
import type { JsonObject } from '#base';
import type { SlackConfig } from '#contracts';
import { slackAppNeeds, slackManifest } from '#core/registry';
import { Configs, readSlackConfig } from '#app/agents';
import { ai, check, createFolders, problemLines } from './driver.ts';

const botToken = 'xoxb-Qw7Lz2Rk9Tn4Vb8Mc1Xe6Ys3';
const env = { SLACK_BOT_TOKEN: botToken, SLACK_APP_TOKEN: 'xapp-Hd5Fj8Gs2Kp7Lw4Zt9Vb1Nc6' };

const block = {
  botToken: '${SLACK_BOT_TOKEN}',
  appToken: '${SLACK_APP_TOKEN}',
  team: 'T1',
  channels: { C012: { agent: 'lead', when: 'mention' }, '*': 'refuse' },
};

const checkBlock = async (slack: unknown, values: Readonly<Record<string, string>> = env) =>
  check(createFolders({ 'lead.ai': ai(), '.ai-agent.json': JSON.stringify({ slack }, null, 1) }, { env: values }), [
    'lead.ai',
  ]);

test('a block that is right has no problems, and its needs are named', async () => {
  const { problems, slack } = await checkBlock(block);
  expect(problems).toEqual([]);
  expect(slack).toEqual({
    transport: 'socket',
    scopes: [
      'app_mentions:read',
      'assistant:write',
      'channels:history',
      'chat:write',
      'commands',
      'files:write',
      'groups:history',
    ],
    events: ['agent_session_stopped', 'app_mention', 'message.channels', 'message.groups'],
  });
});

test.for<[what: string, change: Record<string, unknown>, problem: string]>([
  ['an agent', { dm: { agent: 'leed' } }, 'slack.dm.agent: There is no agent "leed". (lead?)'],
  ['a key', { chanels: {} }, 'slack.chanels: Unknown key'],
  ['a channel', { channels: { general: 'refuse' } }, 'slack.channels.general: Expected the id of a channel (C…), or *'],
  [
    'a route',
    { channels: { C1: 'lead' } },
    'slack.channels.C1: Expected "refuse", or an object such as { "agent": "lead" }.',
  ],
  ['an approver', { approvers: ['@ann'] }, 'slack.approvers[0]: Expected the id of a person (U…), or group:S…'],
  ['a team', { team: 'acme' }, 'slack.team: Expected the id of a workspace'],
  ['a command', { command: 'ask' }, 'slack.command: Expected a slash command such as /ask'],
  ['a variable', { botToken: '${SLACK_BOT' }, 'slack.botToken: `${` must be part of `${VAR}`'],
  ['a token', { botToken: ' ' }, 'slack.botToken: Expected a text that is not empty.'],
  ['a transport', { signingSecret: 'both' }, 'slack.signingSecret: Omit it, or `appToken`'],
  ['no transport', { appToken: undefined }, 'slack: Set `appToken` to receive events over Socket Mode'],
  [
    'an allowance',
    { people: { allowance: { usd: 1, per: 'day' } } },
    'slack.people.budget.usd: Required with an allowance',
  ],
])('a mistake in %s is found with its line', async ([, change, expected]) => {
  const { problems } = await checkBlock({ ...block, ...change });
  const lines = problemLines({ problems });
  expect(lines.filter((line) => line.includes('slack'))).toHaveLength(1);
  expect(lines[0]).toContain(expected.replace(/ \(.*\?\)$/u, ''));
  expect(problems[0]).toMatchObject({ line: expect.any(Number) as number });
  const [, nearest] = / \((.*)\?\)$/u.exec(expected) ?? [];
  if (nearest === 'lead') expect(problems[0]).toMatchObject({ nearest });
});

test('a variable without a value is named, and no value is shown', async () => {
  const { problems } = await checkBlock(block, { SLACK_BOT_TOKEN: botToken });
  expect(problems).toMatchObject([
    { key: 'slack', line: 2, message: expect.stringContaining('SLACK_APP_TOKEN') as string },
  ]);
  expect(JSON.stringify(problems)).not.toContain(botToken);
});

test('a server gets the values, of the nearest block as a whole, and only in the fields for secrets', async () => {
  const far = { ...block, team: 'T9', command: '/far' };
  const place = createFolders(
    { '.ai-agent.json': { slack: { ...block, channels: {} } }, '~/.ai-agent/.ai-agent.json': { slack: far } },
    { env },
  );
  const found = await readSlackConfig(new Configs(place));
  expect(found).toEqual({ ...block, channels: {}, botToken, appToken: env.SLACK_APP_TOKEN });
  await expect(readSlackConfig(new Configs(createFolders({}, { env })))).rejects.toThrow('There is no `slack` block');
  const wrong = createFolders({ '.ai-agent.json': { slack: { team: 'x' } } }, { env });
  await expect(readSlackConfig(new Configs(wrong))).rejects.toThrow('slack.team');
  const without = createFolders({ '.ai-agent.json': { slack: block } }, { env: {} });
  await expect(readSlackConfig(new Configs(without))).rejects.toMatchObject({ code: 'env_missing' });
});

test('the tokens are redacted wherever the process says something', async () => {
  const place = createFolders({ 'lead.ai': ai('models: ollama/some'), '.ai-agent.json': { slack: block } }, { env });
  await using cloister = await openCloister({ agents: ['lead.ai'], store: 'memory', cwd: place.cwd, env });
  expect(cloister.redact(`It is ${botToken}.`)).toBe('It is [redacted].');
});

const bare: SlackConfig = { botToken: 'xoxb-1', appToken: 'xapp-1', team: 'T1' };

test('an app needs no more than its config uses', () => {
  const scopesOf = (more: Partial<SlackConfig>): readonly string[] => slackAppNeeds({ ...bare, ...more }).scopes;
  const least = ['assistant:write', 'chat:write', 'commands', 'files:write'];
  expect(scopesOf({ channels: { '*': 'refuse' }, dm: 'refuse' })).toEqual(least);
  expect(scopesOf({ dm: { agent: 'lead' } })).toEqual([...least, 'im:history']);
  expect(scopesOf({ approvers: ['U1'] })).toEqual(least);
  expect(scopesOf({ approvers: ['group:S1'] })).toEqual([...least, 'usergroups:read']);
});

/** Its type is the SDK's, which does not know the newest event yet. */
type Manifest = Exclude<AppsManifestValidateArguments['manifest'], string>;

const typed = (manifest: JsonObject): Manifest => manifest as unknown as Manifest;

test('the manifest sets up what the config needs, for the transport that it uses', () => {
  const config: SlackConfig = { ...bare, dm: { agent: 'lead' }, command: '/ask' };
  const { features, oauth_config: oauth, settings } = typed(slackManifest(config, { name: 'Desk', requestUrl: null }));
  expect(features).toMatchObject({
    agent_view: {},
    bot_user: { display_name: 'Desk' },
    slash_commands: [{ command: '/ask' }],
    shortcuts: [{ type: 'message' }],
    app_home: { messages_tab_enabled: true, messages_tab_read_only_enabled: false },
  });
  const { scopes, events } = slackAppNeeds(config);
  expect(oauth?.scopes?.bot).toEqual(scopes);
  expect(settings?.event_subscriptions?.bot_events).toEqual(events);
  expect(settings).toMatchObject({ socket_mode_enabled: true, interactivity: { is_enabled: true } });
  expect(JSON.stringify(settings)).not.toContain('request_url');

  const { appToken: _, ...http } = config;
  const requestUrl = 'https://agents.example.com/slack/events';
  const over = typed(slackManifest({ ...http, signingSecret: 's' }, { name: 'Desk', requestUrl }));
  expect(over.settings).toMatchObject({
    socket_mode_enabled: false,
    event_subscriptions: { request_url: requestUrl },
    interactivity: { request_url: requestUrl },
  });
  expect(over.features?.slash_commands?.[0]?.url).toBe(requestUrl);
  expect(JSON.stringify([over, slackManifest(config, { name: 'Desk', requestUrl: null })])).not.toMatch(/xoxb|xapp/u);
});
