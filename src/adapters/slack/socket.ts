// Socket Mode: deliveries over a connection that this process opens.
//
//   slack-acknowledge-after-storing. A delivery is acknowledged only after the receiver has stored it. Bolt's `App` acknowledges
//       events first, so only its receiver is used.
//   slack-socket-comes-back. A connection that is lost is opened again, however long Slack is away. The SDK gives up after the first
//       attempt that fails, with a rejection that nobody handles.
import { CloisterError, isObject } from '#base';
import type { JsonObject } from '#base';
import type { Clock, SlackReceiver } from '#contracts';
import { appFailure } from './check-app.ts';
import { silentLogger } from './load-bolt.ts';
import type { Bolt } from './load-bolt.ts';
import { readDelivery } from './read-delivery.ts';
import { clientOptions, replyOf } from './web-api.ts';

type SocketOptions = {
  readonly appToken: string;
  readonly team: string;
  readonly url?: string | undefined;
  readonly clock: Clock;
  readonly receive: SlackReceiver;
  /** For the operator. */
  readonly log: (text: string) => void;
};

type SocketReceiver = InstanceType<Bolt['SocketModeReceiver']>;

export class SlackSocket {
  readonly #bolt: Bolt;
  readonly #options: SocketOptions;
  #receiver: SocketReceiver | null = null;
  #isStopped = false;
  #failures = 0;
  #stopTimer: (() => void) | null = null;

  constructor(bolt: Bolt, options: SocketOptions) {
    this.#bolt = bolt;
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#receiver !== null;
  }

  /** Resolves when it is connected. Throws `slack_failed` if Slack refuses; if it cannot be reached, it is tried again in the background. */
  async start(): Promise<void> {
    const failure = await this.#connect();
    if (failure === null) return;
    if (failure instanceof CloisterError) throw failure;
    this.#options.log('Slack cannot be reached; trying again.');
    this.#connectLater();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer?.();
    this.#stopTimer = null;
    const receiver = this.#receiver;
    this.#receiver = null;
    await receiver?.client.disconnect();
  }

  /** Null: it is connected. An error of ours: Slack has refused for good. */
  async #connect(): Promise<unknown> {
    const { appToken, url } = this.#options;
    const { SocketModeReceiver } = this.#bolt;
    const receiver = new SocketModeReceiver({
      appToken,
      logger: silentLogger(this.#bolt),
      autoReconnectEnabled: false,
      installerOptions: { clientOptions: clientOptions(this.#bolt, url) },
    });
    receiver.init({ processEvent: (event: ReceivedEvent) => this.#process(event) } as never);
    try {
      await receiver.start();
    } catch (error) {
      return refusalOf(error) ?? { error };
    }
    if (this.#isStopped) {
      await receiver.client.disconnect();
      return null;
    }
    this.#receiver = receiver;
    this.#failures = 0;
    receiver.client.once('disconnected', () => this.#onDisconnected(receiver));
    return null;
  }

  #onDisconnected(receiver: SocketReceiver): void {
    if (this.#receiver !== receiver) return;
    this.#receiver = null;
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    if (this.#isStopped) return;
    const failure = await this.#connect();
    if (failure === null || this.#isStopped) return;
    if (this.#failures === 0)
      this.#options.log(
        failure instanceof CloisterError ? failure.message : 'The connection to Slack is lost; trying again.',
      );
    this.#connectLater();
  }

  #connectLater(): void {
    if (this.#isStopped) return;
    const ms = Math.min(reconnectMs * 2 ** this.#failures++, reconnectMsMax);
    this.#stopTimer = this.#options.clock.timer(ms, () => {
      this.#stopTimer = null;
      void this.#reconnect();
    });
  }

  /** Without an acknowledgement, Slack sends it again. */
  async #process({ body, retryNum, ack }: ReceivedEvent): Promise<void> {
    const { receive, team, log } = this.#options;
    const delivery = isObject(body) ? readDelivery(body as JsonObject, team, retryNum ?? 0) : null;
    try {
      const answer = delivery === null ? undefined : await receive(delivery);
      await ack(answer);
    } catch (error) {
      log(`A delivery of Slack was not accepted: ${String(error)}`);
    }
  }
}

type ReceivedEvent = {
  readonly body: unknown;
  readonly retryNum?: number;
  readonly ack: (answer?: JsonObject) => Promise<void>;
};

const [reconnectMs, reconnectMsMax] = [500, 30_000];

/** Undefined: it may work later. */
const refusalOf = (error: unknown): CloisterError | undefined => {
  const reply = replyOf(error);
  return reply.kind === 'refused' ? appFailure(reply.error, 'appToken') : undefined;
};
