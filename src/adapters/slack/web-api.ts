// Slack's web API through its SDK.
//
//   slack-one-attempt. A call is made once. The SDK would repeat it, and would stop all channels because of one that has a limit.
//   slack-certain-or-unknown. A call that may have had an effect is never reported as one that had none.
import { isObject, utf8Bytes } from '#base';
import type { JsonObject } from '#base';
import type { SlackApi, SlackFile, SlackReply } from '#contracts';
import { silentLogger } from './load-bolt.ts';
import type { Bolt } from './load-bolt.ts';

type WebApiOptions = {
  readonly token: string;
  /** Ends with a slash. */
  readonly url?: string | undefined;
};

export const openWebApi = (bolt: Bolt, { token, url }: WebApiOptions): SlackApi => {
  const client = new bolt.webApi.WebClient(token, { ...clientOptions(bolt, url), teamId: undefined });
  const call = async (method: string, args: JsonObject): Promise<SlackReply> => {
    try {
      const { response_metadata: metadata, ...body } = await client.apiCall(method, args);
      return {
        kind: 'ok',
        body: { ...body, ...(isObject(metadata) ? { response_metadata: metadata } : {}) },
      };
    } catch (error) {
      return replyOf(error);
    }
  };
  return { call, upload: (file) => upload(call, file) };
};

/** Longer than it takes to find out that there is no connection, because then it is certain that nothing happened. */
const timeoutMs = 15_000;

export const clientOptions = (bolt: Bolt, url: string | undefined) => ({
  ...(url === undefined ? {} : { slackApiUrl: url }),
  retryConfig: { retries: 0 },
  rejectRateLimitedCalls: true,
  timeout: timeoutMs,
  // Otherwise a method could be an address that the token is sent to.
  allowAbsoluteUrls: false,
  logger: silentLogger(bolt),
  fetch: fetchWithDelay,
});

/** The SDK reports a refusal for a rate without `retry-after` like any other failure. */
const fetchWithDelay: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  if (response.status !== 429 || Number.parseInt(response.headers.get('retry-after') ?? '', 10) >= 0) return response;
  const headers = new Headers(response.headers);
  headers.set('retry-after', String(retryAfterDefaultMs / 1_000));
  return new Response(response.body, { status: 429, headers });
};

const [retryAfterDefaultMs, unreachableMs] = [30_000, 5_000];

export const replyOf = (error: unknown): SlackReply => {
  if (!isObject(error)) return { kind: 'unknown' };
  switch (error['code']) {
    case 'slack_webapi_rate_limited_error':
      return { kind: 'limited', retryAfterMs: milliseconds(error['retryAfter']) };
    case 'slack_webapi_platform_error':
      return platformReply(isObject(error['data']) ? (error['data'] as JsonObject) : {});
    case 'slack_webapi_http_error':
      return statusReply(Number(error['statusCode']));
    case 'slack_webapi_request_error':
      return wasSent(error['original']) ? { kind: 'unknown' } : { kind: 'limited', retryAfterMs: unreachableMs };
    default:
      return { kind: 'unknown' };
  }
};

/** After these, part of the call may have had its effect; that is what their descriptions say. */
const uncertainCodes: readonly unknown[] = ['internal_error', 'fatal_error', 'service_unavailable'];

const platformReply = ({ error, response_metadata: metadata }: JsonObject): SlackReply => {
  // A body that is not JSON, such as the page of a proxy, is passed on as the error.
  if (typeof error !== 'string' || !/^[a-z0-9_.:-]{1,100}$/iu.test(error) || uncertainCodes.includes(error))
    return { kind: 'unknown' };
  if (error !== 'ratelimited' && error !== 'rate_limited') return { kind: 'refused', error };
  return { kind: 'limited', retryAfterMs: milliseconds(isObject(metadata) ? metadata['retryAfter'] : undefined) };
};

/** Slack itself answers with 200; other codes are those of what is in front of it. */
const statusReply = (status: number): SlackReply =>
  status >= 400 && status < 500 && status !== 408 ? { kind: 'refused', error: `http_${status}` } : { kind: 'unknown' };

const milliseconds = (seconds: unknown): number =>
  typeof seconds === 'number' && seconds >= 0 ? Math.max(1, seconds * 1_000) : retryAfterDefaultMs;

/** Without a connection nothing was sent. */
const wasSent = (error: unknown): boolean => {
  for (let cause = error, depth = 0; isObject(cause) && depth < 5; cause = cause['cause'], depth++)
    if (noConnectionCodes.includes(cause['code'])) return false;
  return true;
};

const noConnectionCodes: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
];

type Call = SlackApi['call'];

/** Only the last step shows the file to anybody, so before it nothing has happened. */
const upload = async (call: Call, { channel, thread, name, text }: SlackFile): Promise<SlackReply> => {
  const prepared = await call('files.getUploadURLExternal', { filename: name, length: utf8Bytes(text) });
  if (prepared.kind === 'unknown') return nothingShown;
  if (prepared.kind !== 'ok') return prepared;
  const { upload_url: url, file_id: id } = prepared.body;
  if (typeof url !== 'string' || typeof id !== 'string') return { kind: 'refused', error: 'no_upload_url' };
  if (!(await post(url, text))) return nothingShown;
  return call('files.completeUploadExternal', { files: [{ id, title: name }], channel_id: channel, thread_ts: thread });
};

const nothingShown: SlackReply = { kind: 'limited', retryAfterMs: unreachableMs };

/** Whether the bytes arrived. The address is secret by itself, and gets no token. */
const post = async (url: string, text: string): Promise<boolean> => {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const headers = { 'content-type': 'application/octet-stream' };
    const response = await fetch(url, { method: 'POST', body: text, headers, redirect: 'error', signal });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
};
