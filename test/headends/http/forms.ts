// What a refusal looks like in each protocol, written after the protocols and not after our code.
import { expect } from 'vitest';

export type Protocol = 'rest' | 'openai' | 'anthropic' | 'mcp';

/** Whose address it is. */
export const protocolOf = (path: string, anthropicVersion = false): Protocol => {
  const { pathname } = new URL(path, 'http://x');
  if (/^\/mcp(?:\/|$)/u.test(pathname)) return 'mcp';
  if (/^\/v1\/messages(?:\/count_tokens)?$/u.test(pathname)) return 'anthropic';
  if (/^\/v1\/models(?:\/|$)/u.test(pathname)) return anthropicVersion ? 'anthropic' : 'openai';
  if (/^\/v1\/(?:chat\/completions|responses)(?:\/|$)/u.test(pathname)) return 'openai';
  return 'rest';
};

const words: unknown = expect.stringMatching(/./u);

/** Throws when the body is not an error of that protocol, and no more than one. Gives its code. */
export const codeIn = (protocol: Protocol, body: string, retryable = false): string => {
  const value = JSON.parse(body);
  switch (protocol) {
    case 'rest':
      expect(value).toEqual({
        error: {
          code: words,
          class: words,
          message: words,
          suggestion: words,
          ...(retryable ? { retryAfterMs: expect.any(Number) } : {}),
        },
      });
      return value.error.code;
    case 'openai':
      expect(value).toEqual({ error: { message: words, type: words, param: null, code: words } });
      return value.error.code === 'invalid_api_key' ? 'token_refused' : value.error.code;
    case 'anthropic':
      expect(value).toEqual({
        type: 'error',
        error: {
          type: expect.stringMatching(/_error$|^request_too_large$/u),
          message: words,
          details: { error_code: words },
        },
        request_id: words,
      });
      return value.error.details.error_code;
    case 'mcp':
      expect(value).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: { code: expect.any(Number), message: words, data: { code: words, retryable, request: words } },
      });
      return value.error.data.code;
  }
};

/** Every response carries them. */
export const expectSafe = (headers: Headers): void => {
  expect({
    'cache-control': headers.get('cache-control'),
    'content-security-policy': headers.get('content-security-policy'),
    'cross-origin-resource-policy': headers.get('cross-origin-resource-policy'),
    'referrer-policy': headers.get('referrer-policy'),
    'x-content-type-options': headers.get('x-content-type-options'),
    'x-frame-options': headers.get('x-frame-options'),
    'set-cookie': headers.get('set-cookie'),
    server: headers.get('server'),
    'x-powered-by': headers.get('x-powered-by'),
  }).toEqual({
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'set-cookie': null,
    server: null,
    'x-powered-by': null,
  });
  expect(headers.get('x-request-id')).toMatch(/^req_\w{8,}$/u);
};
