// Answers in Slack: deliveries come in, calls of its web API go out.
import { CloisterError } from '#base';
import { slackCallerName } from '#contracts';
import type { Caller } from '#contracts';
import { BoundedMap } from './bounded-map.ts';
import { ButtonValues } from './button-values.ts';
import { CallQueue } from './call-queue.ts';
import { DeliveryHandler } from './delivery-handler.ts';
import type { SlackHeadendPorts } from './headend-ports.ts';
import type { AppIdentity } from './parse-delivery.ts';
import { PressHandler } from './press-handler.ts';
import type { SlackReceiver } from './slack-api.ts';
import { SlackMessages } from './slack-messages.ts';
import { ThreadWorkers } from './thread-workers.ts';
import { ThreadWriter } from './thread-writer.ts';

type SlackHeadend = {
  /** What Slack delivers, from `start` on. */
  readonly receive: SlackReceiver;
  /** Works on what waits, as the app that Slack says we are. Nothing is received before. */
  start(app: AppIdentity): void;
  /** Lets go of everything: what is not done is done by the next process. Call it after the runs have been drained. */
  stop(): Promise<void>;
};

const ownersMax = 10_000;

export const openSlackHeadend = (ports: SlackHeadendPorts): SlackHeadend => {
  const { service, api, inbox, config, clock, admit, log } = ports;
  const stop = new AbortController();
  const stopping = stop.signal;
  let me: AppIdentity | undefined;
  const identity = (): AppIdentity | undefined => me;
  const queue = new CallQueue({ api, clock });
  const messages = new SlackMessages({ queue, clock, stopping, bot: () => me?.bot ?? '' });
  const values = new ButtonValues(config.botToken, service);
  // probe: slack-caller
  const callerOf = (team: string, user: string): Caller => ({
    name: slackCallerName(team, user),
    sees: config.people?.sees ?? 'answers',
  });
  const owners = new BoundedMap<string, string>(ownersMax);
  const { later, settle } = openBackground(log);
  const workers = new ThreadWorkers({
    service,
    inbox,
    config,
    clock,
    messages,
    values,
    identity,
    callerOf,
    owners,
    stopping,
    log,
    store: async (to, item) => {
      await inbox.put(to, item);
      workers.wake(to);
    },
    openWriter: (place, marker, isLate, stopBlock) => {
      const offer = stopBlock === undefined ? {} : { stop: stopBlock };
      const writer = new ThreadWriter({ queue, clock, place, marker, stopping, bot: me?.bot ?? '', ...offer });
      if (isLate) writer.recover();
      return writer;
    },
  });
  const wake = (name: string): void => workers.wake(name);
  const presses = new PressHandler({ ...ports, values, messages, queue, callerOf, wake, later });
  const deliveries = new DeliveryHandler({
    ...ports,
    admit,
    messages,
    identity,
    callerOf,
    owners,
    wake,
    later,
    press: (press) => presses.press(press),
    submit: (form) => presses.submit(form),
  });
  return {
    receive: async (delivery) => {
      if (stopping.aborted) throw new CloisterError('server_stopping');
      return deliveries.receive(delivery);
    },
    start: (app) => {
      me = app;
      workers.start();
    },
    stop: async () => {
      stop.abort();
      queue.close();
      await workers.stop();
      await settle();
    },
  };
};

/** What is done after an acknowledgement. */
const openBackground = (log: SlackHeadendPorts['log']) => {
  const working = new Set<Promise<void>>();
  return {
    later: (work: () => Promise<void>): void => {
      const one = work().catch((error: unknown) => log(`Slack: ${String(error)}`));
      working.add(one);
      void one.finally(() => working.delete(one));
    },
    settle: async (): Promise<void> => {
      await Promise.all(working);
    },
  };
};
