// Deliveries as signed HTTP requests.
import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { SlackConsumer, SlackEnvelope } from './delivery-queue.ts';
import { parseJson } from './call-arguments.ts';

/** A request to an app. To forge or replay one, change it and post it again. */
export type SlackHttpRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** What the app responded. */
type SlackResponse = { readonly status: number; readonly body: string };

/** The headers by which an app knows that a request is from Slack. `atMs`: epoch milliseconds. */
export const signSlackRequest = (secret: string, body: string, atMs: number): Readonly<Record<string, string>> => {
  const seconds = String(Math.floor(atMs / 1000));
  const signature = createHmac('sha256', secret).update(`v0:${seconds}:${body}`).digest('hex');
  return { 'x-slack-request-timestamp': seconds, 'x-slack-signature': `v0=${signature}` };
};

/** Rejects if there is no response. */
export const postSlackRequest = ({ url, headers, body }: SlackHttpRequest): Promise<SlackResponse> =>
  new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const sent = request(url, { method: 'POST', headers: { ...headers, 'content-length': length }, agent: false });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString('utf8') }),
      );
    });
    sent.end(body);
  });

const buildSlackRequest = (
  url: string,
  envelope: SlackEnvelope,
  { secret, atMs }: { readonly secret: string; readonly atMs: number },
): SlackHttpRequest => {
  const { type, payload, retryAttempt, retryReason } = envelope;
  const isEvent = type === 'events_api';
  const body = isEvent
    ? JSON.stringify(payload)
    : new URLSearchParams(
        type === 'slash_commands' ? (payload as Record<string, string>) : { payload: JSON.stringify(payload) },
      ).toString();
  const headers = {
    'content-type': isEvent ? 'application/json' : 'application/x-www-form-urlencoded',
    ...signSlackRequest(secret, body, atMs),
    ...(retryAttempt === 0
      ? {}
      : { 'x-slack-retry-num': String(retryAttempt), 'x-slack-retry-reason': httpReason(retryReason ?? '') }),
  };
  return { url, headers, body };
};

const httpReason = (reason: string): string => (reason === 'timeout' ? 'http_timeout' : reason);

/** Posts whatever people do to this address; `keep` sees each request. */
export const createRequestConsumer =
  (
    url: string,
    sign: () => { secret: string; atMs: number },
    keep: (request: SlackHttpRequest) => void,
  ): SlackConsumer =>
  async (envelope) => {
    const built = buildSlackRequest(url, envelope, sign());
    keep(built);
    const { status, body } = await postSlackRequest(built);
    if (status !== 200) throw new Error(`The app responded with status ${status}.`);
    return readAcknowledgement(body);
  };

/** Apps respond with JSON, with plain text or with nothing. */
const readAcknowledgement = (body: string): JsonObject | undefined => {
  if (body === '') return undefined;
  const value = parseJson(body);
  return isObject(value) ? value : { text: body };
};
