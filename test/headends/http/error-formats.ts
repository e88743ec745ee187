// The error format of each protocol, written from the protocols and not from our code.
import { expect } from 'vitest';

export type Protocol = 'rest' | 'openai' | 'anthropic' | 'mcp';

/** The protocol that a path belongs to. */
export const protocolOf = (path: string, anthropicVersion = false): Protocol => {
  const { pathname } = new URL(path, 'http://x');
  if (/^\/mcp(?:\/|$)/u.test(pathname)) return 'mcp';
  if (/^\/v1\/messages(?:\/count_tokens)?$/u.test(pathname)) return 'anthropic';
  if (/^\/v1\/models(?:\/|$)/u.test(pathname)) return anthropicVersion ? 'anthropic' : 'openai';
  if (/^\/v1\/(?:chat\/completions|responses)(?:\/|$)/u.test(pathname)) return 'openai';
  if (/^\/v1\/(?:completions|embeddings|moderations|images\/generations|audio\/speech)$/u.test(pathname))
    return 'openai';
  return 'rest';
};

const nonEmpty: unknown = expect.stringMatching(/./u);

/** Returns the error code. Throws unless the body is exactly an error of that protocol. */
export const errorCodeIn = (protocol: Protocol, body: string, retryable = false): string => {
  const value = JSON.parse(body);
  switch (protocol) {
    case 'rest':
      expect(value).toEqual({
        error: {
          code: nonEmpty,
          class: nonEmpty,
          message: nonEmpty,
          suggestion: nonEmpty,
          ...(retryable ? { retryAfterMs: expect.any(Number) } : {}),
        },
      });
      return value.error.code;
    case 'openai':
      expect(value).toEqual({ error: { message: nonEmpty, type: nonEmpty, param: null, code: nonEmpty } });
      return value.error.code === 'invalid_api_key' ? 'token_refused' : value.error.code;
    case 'anthropic':
      expect(value).toEqual({
        type: 'error',
        error: {
          type: expect.stringMatching(/_error$|^request_too_large$/u),
          message: nonEmpty,
          details: { error_code: nonEmpty },
        },
        request_id: nonEmpty,
      });
      return value.error.details.error_code;
    case 'mcp':
      expect(value).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: { code: expect.any(Number), message: nonEmpty, data: { code: nonEmpty, retryable, request: nonEmpty } },
      });
      return value.error.data.code;
  }
};

/** Checks the headers that every response must have. */
export const expectSecurityHeaders = (headers: Headers, id = /^req_\w{8,}$/u): void => {
  expect({
    'cache-control': headers.get('cache-control'),
    'content-security-policy': headers.get('content-security-policy'),
    'cross-origin-opener-policy': headers.get('cross-origin-opener-policy'),
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
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'set-cookie': null,
    server: null,
    'x-powered-by': null,
  });
  expect(headers.get('x-request-id')).toMatch(id);
};
