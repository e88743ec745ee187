// What goes wrong before a server object sees a message, in JSON-RPC's words.
import type { ClientFailure } from '#contracts';
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { ErrorFormatter } from '#contracts';
import { rpcIdCharsMax } from './limits.ts';

export type RpcId = string | number;

export const rpcCodes = { parse: -32_700, request: -32_600, params: -32_602, internal: -32_603, server: -32_000 };

export type RpcRefusal = {
  /** Of the HTTP response, where there is one. */
  readonly status: number;
  readonly message: JsonObject;
};

export const rpcRefusal = (status: number, code: number, words: string, id: RpcId | null = null): RpcRefusal => ({
  status,
  message: { jsonrpc: '2.0', id, error: { code, message: words } },
});

export const rpcForm: ErrorFormatter = (failure, request) => ({
  jsonrpc: '2.0',
  id: null,
  error: {
    code: failure.code === 'request_invalid' ? rpcCodes.request : rpcCodes.server,
    message: wordsOf(failure),
    data: { code: failure.code, retryable: failure.retryable, request },
  },
});

/** What happened, and what to do. */
export const wordsOf = ({ message, suggestion }: ClientFailure): string => `${message} ${suggestion}`;

/** The id of what is not quite a request, if it can be told. */
export const idIn = (value: Json): RpcId | null => {
  const id = isObject(value) && 'method' in value ? value['id'] : null;
  const isId = typeof id === 'string' ? id.length <= rpcIdCharsMax : Number.isSafeInteger(id);
  return isId ? (id as RpcId) : null;
};

/** The request that a message says is not wanted any more. */
export const cancelledIn = (value: Json): RpcId | null => {
  if (!isObject(value) || value['method'] !== 'notifications/cancelled' || value['id'] !== undefined) return null;
  const { params } = value;
  const id = isObject(params) ? params['requestId'] : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
};
