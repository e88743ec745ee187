// The `Idempotency-Key` of a request that may be sent again.
import { canonicalJson, CloisterError, sha256 } from '#base';
import type { JsonObject } from '#base';

const charsMax = 255;

/** Undefined if there is none. Throws `request_invalid`. */
export const requestKey = (headers: Headers): string | undefined =>
  checkKey(headers.get('idempotency-key') ?? undefined, 'Idempotency-Key');

/** For protocols in which a key comes another way, under this name. Throws `request_invalid`. */
export const checkKey = (key: unknown, name: string): string | undefined => {
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || key.length > charsMax || !/^[\u0021-\u007e]+$/u.test(key))
    throw new CloisterError(
      'request_invalid',
      `${name}: expected 1 to ${charsMax} printable ASCII characters without spaces.`,
    );
  return key;
};

/** Where a key has no effect, a client that sends one would rely on it. Throws `request_unsupported`. */
export const refuseKey = ({ headers }: { readonly headers: Headers }, why: string): void => {
  if (requestKey(headers) !== undefined)
    throw new CloisterError('request_unsupported', `Idempotency-Key: ${why} Omit the header.`);
};

/**
 * The id of a message that is sent with a key: its first part follows from run and key, its second from what is sent. `by`: who sends it,
 * if that is not the caller of the run: a key belongs to whoever uses it.
 */
export const keyedMessageId = (run: string, key: string, message: JsonObject, by?: string): string =>
  `m-${sha256(`message ${JSON.stringify([run, key, ...(by === undefined ? [] : [by])])}`).slice(0, 16)}-${sha256(canonicalJson(message)).slice(0, 8)}`;
