// JSON-RPC errors for messages that never reach a server object.
import type { ClientFailure } from '#contracts';
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { ErrorFormatter } from '#contracts';
import { rpcIdCharsMax } from './limits.ts';

export type RpcId = string | number;

export const rpcCodes = { parse: -32_700, request: -32_600, params: -32_602, internal: -32_603, server: -32_000 };

export type RpcRefusal = {
  /** The status of the HTTP response, if there is one. */
  readonly status: number;
  readonly message: JsonObject;
};

export const rpcRefusal = (status: number, code: number, text: string, id: RpcId | null = null): RpcRefusal => ({
  status,
  message: { jsonrpc: '2.0', id, error: { code, message: text } },
});

export const rpcError: ErrorFormatter = (failure, request) => ({
  jsonrpc: '2.0',
  id: null,
  error: {
    code: failure.code === 'request_invalid' ? rpcCodes.request : rpcCodes.server,
    message: clientFailureText(failure),
    data: { code: failure.code, retryable: failure.retryable, request },
  },
});

/** What happened, and what to do. */
export const clientFailureText = ({ message, suggestion }: ClientFailure): string => `${message} ${suggestion}`;

/** The id of a message that looks like a request; null if it has no usable id. */
export const readRpcId = (value: Json): RpcId | null => {
  const id = isObject(value) && 'method' in value ? value['id'] : null;
  const isId = typeof id === 'string' ? id.length <= rpcIdCharsMax : Number.isSafeInteger(id);
  return isId ? (id as RpcId) : null;
};

/** The id of the request that a message cancels; null if it is not a cancellation. */
export const readCancelledId = (value: Json): RpcId | null => {
  if (!isObject(value) || value['method'] !== 'notifications/cancelled' || value['id'] !== undefined) return null;
  const { params } = value;
  const id = isObject(params) ? params['requestId'] : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
};
