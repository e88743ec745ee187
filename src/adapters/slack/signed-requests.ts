// Deliveries over HTTP: a route that needs no token, because each request is signed.
//
//   slack-signature-first. Nothing of a body is read before its signature and its age are checked.
//   slack-replay-answered-once. The same signed request, sent again, is not delivered again and gets the same answer.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { CloisterError, isObject } from '#base';
import type { Json } from '#base';
import type { ErrorFormatter, OpenRoute, RouteReply, SlackReceiver } from '#contracts';
import { readDelivery } from './read-delivery.ts';

type SignedRouteOptions = {
  readonly signingSecret: string;
  readonly team: string;
  readonly now: () => number;
  readonly receive: SlackReceiver;
  readonly formatError: ErrorFormatter;
};

export const slackEventsPath = '/slack/events';

/** Events, interactions and slash commands. Throws `signature_refused`. */
export const signedRoute = (options: SignedRouteOptions): OpenRoute => {
  const answered = new RecentAnswers(options.now);
  return {
    method: 'POST',
    path: slackEventsPath,
    open: true,
    takes: [formType],
    formatError: options.formatError,
    answer: async ({ headers, body, bytes = new Uint8Array() }) => {
      const signature = checkSignature(headers, bytes, options);
      return answered.answer(signature, () => deliver(body ?? parseForm(bytes), headers, options));
    },
  };
};

const formType = 'application/x-www-form-urlencoded';

const deliver = async (
  payload: Json | undefined,
  headers: Headers,
  { team, receive }: SignedRouteOptions,
): Promise<RouteReply> => {
  if (!isObject(payload)) throw new CloisterError('request_invalid', 'The body: expected a payload of Slack.');
  const { type, challenge } = payload;
  if (type === 'url_verification')
    return { status: 200, body: { challenge: typeof challenge === 'string' ? challenge.slice(0, 1_000) : '' } };
  const retry = Number.parseInt(headers.get('x-slack-retry-num') ?? '0', 10);
  const delivery = readDelivery(payload, team, Number.isNaN(retry) ? 0 : retry);
  if (delivery === null) return { status: 200, body: undefined };
  try {
    return { status: 200, body: await receive(delivery) };
  } catch (error) {
    // Slack sends it again.
    throw new CloisterError('server_busy', 'The delivery could not be stored.', { cause: error });
  }
};

/** A slash command is the form itself; an interaction is JSON in one of its fields. */
const parseForm = (bytes: Uint8Array): Json | undefined => {
  const form = new URLSearchParams(new TextDecoder().decode(bytes));
  const payload = form.get('payload');
  if (payload === null) return Object.fromEntries(form);
  try {
    return JSON.parse(payload) as Json;
  } catch {
    return undefined;
  }
};

/** Returns the signature. */
const checkSignature = (
  headers: Headers,
  bytes: Uint8Array,
  { signingSecret, now }: Pick<SignedRouteOptions, 'signingSecret' | 'now'>,
): string => {
  const at = headers.get('x-slack-request-timestamp') ?? '';
  const signature = headers.get('x-slack-signature') ?? '';
  const expected = `v0=${createHmac('sha256', signingSecret).update(`v0:${at}:`).update(bytes).digest('hex')}`;
  // Compared in any case, so that nothing is told by how long it takes.
  const isSame =
    signature.length === expected.length &&
    timingSafeEqual(Buffer.from(signature, 'latin1'), Buffer.from(expected, 'latin1'));
  const isRecent = /^\d{1,12}$/u.test(at) && Math.abs(now() - Number(at) * 1_000) <= ageMsMax;
  if (!isSame || !isRecent) throw new CloisterError('signature_refused');
  return signature;
};

const [ageMsMax, answersMax] = [300_000, 10_000];

/** By signature, for as long as a signature is valid. A request that failed is not remembered. */
class RecentAnswers {
  readonly #now: () => number;
  readonly #answers = new Map<string, { readonly at: number; readonly reply: Promise<RouteReply> }>();

  constructor(now: () => number) {
    this.#now = now;
  }

  answer(signature: string, answer: () => Promise<RouteReply>): Promise<RouteReply> {
    const known = this.#answers.get(signature);
    if (known !== undefined) return known.reply;
    const now = this.#now();
    // The map keeps the order in which they came. A clock in front of ours may be ahead by as much as a request may be old.
    for (const [oldest, { at }] of this.#answers) {
      if (now - at <= 2 * ageMsMax && this.#answers.size < answersMax) break;
      this.#answers.delete(oldest);
    }
    const reply = answer();
    this.#answers.set(signature, { at: now, reply });
    reply.catch(() => this.#answers.delete(signature));
    return reply;
  }
}
