// Slack for a server: the SDK's edge, the people, and the headend. Loaded only by a server with Slack.
import { identifyApp, loadBolt, openWebApi, signedRoute, SlackSocket } from '#adapters/slack';
import { CloisterError } from '#base';
import { checkShape } from '#base/shapes';
import { slackAgents, slackConfigShape } from '#contracts';
import type {
  AgentService,
  Caller,
  Clock,
  ErrorFormatter,
  Inbox,
  OpenRoute,
  SlackConfig,
  TokenEntry,
} from '#contracts';
import { slackAppNeeds } from '#core/registry';
import { openSlackHeadend } from '#headends/slack';
import type { SlackState } from './server-options.ts';
import { SlackCallers } from './slack-callers.ts';

type SlackPorts = {
  readonly service: AgentService;
  readonly inbox: Inbox;
  readonly clock: Clock;
  /** Throws `rate_exceeded`. */
  readonly admit: (caller: Caller) => void;
  readonly redact: (text: string) => string;
  readonly formatError: ErrorFormatter;
};

export type SlackEdge = {
  /** The rights of a person; undefined for other callers. */
  readonly entry: (name: string) => TokenEntry | undefined;
  /** Connects it to the service. */
  readonly connect: (ports: SlackPorts) => ConnectedSlack;
};

type ConnectedSlack = {
  /** Over HTTP, what Slack calls. */
  readonly routes: readonly OpenRoute[];
  /** Rejects with `slack_failed`. If Slack cannot be reached, it is tried again in the background. */
  start(): Promise<SlackState>;
  /** After the runs have been drained. Meanwhile people can still stop their runs, and what they write waits for the next server. */
  stop(): Promise<void>;
};

type EdgeOptions = {
  readonly config: SlackConfig;
  /** Names of the agents. */
  readonly served: readonly string[];
  readonly clock: Clock;
  readonly log: (text: string) => void;
};

/** Throws `options_invalid`, or `slack_failed` if the SDK is not installed. */
export const openSlack = async ({ config, served, clock, log }: EdgeOptions): Promise<SlackEdge> => {
  checkSlackConfig(config, served);
  const bolt = await loadBolt();
  const { apiUrl: url, team, botToken, appToken, signingSecret } = config;
  const api = openWebApi(bolt, { token: botToken, url });
  const callers = new SlackCallers({ api, config, clock, log });
  const { scopes, transport } = slackAppNeeds(config);
  const connect = (ports: SlackPorts): ConnectedSlack => {
    const headend = openSlackHeadend({ ...ports, api, config, clock, log });
    const { receive } = headend;
    const socket = appToken === undefined ? null : new SlackSocket(bolt, { appToken, team, url, clock, receive, log });
    const { formatError } = ports;
    const now = (): number => clock.now();
    let stopped = false;
    const begin = async (): Promise<string | null> => {
      const app = await identifyApp(api, { team, scopes });
      if (app === null || stopped) return null;
      await callers.start();
      headend.start({ team, bot: app.user });
      await socket?.start();
      return app.teamName;
    };
    let stopRetry: (() => void) | undefined;
    const beginLater = (): void => {
      stopRetry = clock.timer(retryMs, () => {
        void begin().then(
          (found) => (found === null && !stopped ? beginLater() : undefined),
          (error: unknown) => log(`Slack: ${error instanceof Error ? error.message : String(error)}`),
        );
      });
    };
    const stop = async (): Promise<void> => {
      stopped = true;
      stopRetry?.();
      callers.stop();
      await headend.stop();
      await socket?.stop();
    };
    return {
      routes: signingSecret === undefined ? [] : [signedRoute({ signingSecret, team, now, receive, formatError })],
      async start() {
        try {
          const workspace = await begin();
          if (workspace === null) beginLater();
          return { workspace, transport };
        } catch (error) {
          await stop();
          throw error;
        }
      },
      stop,
    };
  };
  return { entry: (name) => callers.entry(name), connect };
};

const retryMs = 10_000;

const checkSlackConfig = (config: SlackConfig, served: readonly string[]): void => {
  checkShape(slackConfigShape, config, (text) => new CloisterError('options_invalid', `slack: ${text}`), 'slack');
  for (const { agent, path } of slackAgents(config))
    if (!served.includes(agent))
      throw new CloisterError(
        'options_invalid',
        `slack.${path.join('.')}: the agent "${agent}" is not served here. Served: ${served.join(', ')}.`,
      );
};
