// A fake Slack on a loopback port, in Slack's own wire formats, for apps and SDKs as they are.
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import { uploadMethod } from './fake-slack.ts';
import type { FakeSlack, SlackOutcome } from './fake-slack.ts';
import type { SlackConnection } from './slack/delivery-queue.ts';
import { parseJson, readCallArguments, readFileText } from './slack/call-arguments.ts';
import { createRequestConsumer, postSlackRequest, signSlackRequest } from './slack/signed-requests.ts';
import type { SlackHttpRequest } from './slack/signed-requests.ts';
import { serveSocket } from './slack/socket-mode.ts';

/** The secrets that the app has to know. */
type SlackSecrets = { readonly botToken: string; readonly appToken: string; readonly signingSecret: string };

/** A fake Slack that can be reached over loopback. Close it at the end. */
export type SlackServer = SlackSecrets & {
  /** What SDKs call `slackApiUrl`. */
  readonly url: string;
  /** How many sockets are open. */
  readonly sockets: number;
  /** Asks all sockets to connect again, and closes them. */
  disconnect(reason?: 'warning' | 'refresh_requested' | 'link_disabled'): void;
  /** Cuts all sockets without a word. */
  cut(): void;
  /** Posts whatever people do to this address, signed. */
  postTo(url: string): SlackConnection;
  /** The requests that were posted, to be changed or replayed with `postSlackRequest`. */
  readonly posted: readonly SlackHttpRequest[];
  /** Does what Slack does before it posts to an address: true if the app returns the challenge. */
  verifyUrl(url: string): Promise<boolean>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const defaultSecrets: SlackSecrets = {
  botToken: 'xoxb-fake-bot-token',
  appToken: 'xapp-fake-app-token',
  signingSecret: 'fake-signing-secret',
};

/** Opens the fake Slack on a loopback port: web API, Socket Mode, signed requests. */
export const listenSlack = async (slack: FakeSlack, secrets: Partial<SlackSecrets> = {}): Promise<SlackServer> => {
  const known: SlackSecrets = { ...defaultSecrets, ...secrets };
  const tickets = new Set<string>();
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer((request, response) => void serve({ slack, known }, request, response));
  server.on('upgrade', (request, socket, head) => {
    const ticket = new URL(request.url ?? '', 'http://fake').searchParams.get('ticket') ?? '';
    if (!tickets.delete(ticket)) socket.destroy();
    else
      sockets.handleUpgrade(request, socket, head, (opened) =>
        serveSocket(opened, { app: slack.ids.app, count: sockets.clients.size }, (consumer) => slack.connect(consumer)),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  let opened = 0;
  slack.setAddresses({
    upload: `http://${host}/upload/`,
    response: `http://${host}/respond/`,
    socket: () => {
      const ticket = `ticket-${++opened}`;
      tickets.add(ticket);
      return `ws://${host}/link/?ticket=${ticket}`;
    },
  });

  const posted: SlackHttpRequest[] = [];
  const sign = (): { secret: string; atMs: number } => ({ secret: known.signingSecret, atMs: slack.clock.now() });
  const close = async (): Promise<void> => {
    slack.close();
    for (const socket of sockets.clients) socket.terminate();
    await closeServer(server);
  };
  return {
    ...known,
    url: `http://${host}/api/`,
    get sockets() {
      return sockets.clients.size;
    },
    disconnect(reason = 'refresh_requested') {
      for (const socket of sockets.clients) {
        socket.send(JSON.stringify({ type: 'disconnect', reason, debug_info: { host: 'fake' } }));
        socket.close();
      }
    },
    cut() {
      for (const socket of sockets.clients) socket.terminate();
    },
    postTo: (url) => slack.connect(createRequestConsumer(url, sign, (request) => posted.push(request))),
    posted,
    async verifyUrl(url) {
      const challenge = 'fake-challenge';
      const body = JSON.stringify({ type: 'url_verification', token: 'verification-token', challenge });
      const { secret, atMs } = sign();
      const headers = { 'content-type': 'application/json', ...signSlackRequest(secret, body, atMs) };
      const response = await postSlackRequest({ url, headers, body });
      return response.status === 200 && response.body.includes(challenge);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};

type ServerState = { readonly slack: FakeSlack; readonly known: SlackSecrets };

const serve = async (state: ServerState, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { slack } = state;
  const body = await readBody(request);
  if (body === undefined) return;
  const contentType = request.headers['content-type'] ?? '';
  const [, folder, name = ''] = /^\/(api|upload|respond)\/([^/?]+)/u.exec(request.url ?? '') ?? [];
  switch (folder) {
    case 'api': {
      const args = readCallArguments(body.toString('utf8'), contentType);
      const refusal = findTokenProblem(state.known, name, request, args);
      const { token: _, ...rest } = args;
      if (refusal !== undefined) return sendJson(response, { ok: false, error: refusal });
      return sendOutcome(slack, slack.receive(name, rest), request, response);
    }
    case 'upload': {
      const text = await readFileText(body, contentType);
      return sendOutcome(slack, slack.receive(uploadMethod, { file_id: name, text }), request, response);
    }
    case 'respond': {
      const value = parseJson(body.toString('utf8'));
      const isKnown = isObject(value) && slack.respond(name, value);
      return send(response, isKnown ? 200 : 404, isKnown ? 'ok' : 'used_url');
    }
    default:
      return send(response, 404, 'not_found');
  }
};

/** Undefined if the caller went away. */
const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  try {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    return Buffer.concat(parts);
  } catch {
    return undefined;
  }
};

const findTokenProblem = (
  { botToken, appToken }: SlackSecrets,
  method: string,
  request: IncomingMessage,
  args: JsonObject,
): string | undefined => {
  const [, bearer] = /^Bearer (.+)$/u.exec(request.headers.authorization ?? '') ?? [];
  const token = bearer ?? args['token'];
  if (token === undefined || token === '') return 'not_authed';
  if (token !== botToken && token !== appToken) return 'invalid_auth';
  const expected = method === 'apps.connections.open' ? appToken : botToken;
  return token === expected ? undefined : 'not_allowed_token_type';
};

const sendOutcome = (
  slack: FakeSlack,
  outcome: SlackOutcome,
  request: IncomingMessage,
  response: ServerResponse,
): void => {
  switch (outcome.kind) {
    case 'answer':
      if (outcome.delayMs === 0) sendJson(response, outcome.body);
      else slack.clock.timer(outcome.delayMs, () => sendJson(response, outcome.body));
      return;
    case 'limited':
      response.setHeader('retry-after', String(Math.ceil(outcome.retryAfterMs / 1000)));
      send(response, 429, JSON.stringify({ ok: false, error: 'ratelimited' }));
      return;
    case 'status':
      send(response, outcome.status, 'The fake Slack was told to fail.');
      return;
    case 'cut':
      request.socket.destroy();
      return;
    case 'silence':
  }
};

const sendJson = (response: ServerResponse, body: JsonObject): void => {
  response.setHeader('content-type', 'application/json; charset=utf-8');
  send(response, 200, JSON.stringify(body));
};

const send = (response: ServerResponse, status: number, body: string): void => {
  response.statusCode = status;
  response.end(body);
};

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
