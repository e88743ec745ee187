// What can go wrong between a client and a server of agents.
import { errorEntry } from './error-entry.ts';
import type { ErrorEntry } from './error-entry.ts';

export const httpErrors = {
  request_invalid: errorEntry(
    'config',
    false,
    'The request cannot be understood.',
    'Correct what the message names; GET /openapi.json describes every request.',
  ),
  request_unsupported: errorEntry(
    'config',
    false,
    'The request asks for something that is not offered here.',
    'Leave out what the message names, or ask in another way.',
  ),
  request_timeout: errorEntry(
    'timeout',
    true,
    'The request did not come in time.',
    'Send it again, and without a break.',
  ),
  request_too_large: errorEntry('limit', false, 'The request is too large.', 'Send less at once.'),
  media_refused: errorEntry(
    'config',
    false,
    'The body is not announced as JSON.',
    'Send it with the header content-type: application/json.',
  ),
  method_refused: errorEntry(
    'config',
    false,
    'The address takes another method.',
    'Use the one that the message names.',
  ),
  route_unknown: errorEntry('config', false, 'There is no such address.', 'GET /openapi.json lists what there is.'),
  token_refused: errorEntry(
    'auth',
    false,
    'The token is missing or wrong.',
    'Send the header authorization: Bearer <token>, with a token of the operator.',
  ),
  host_refused: errorEntry(
    'policy',
    false,
    'The server does not answer to this host name.',
    'Use the address that it printed, or let the operator add the name with --allow-host.',
  ),
  origin_refused: errorEntry(
    'policy',
    false,
    'Web pages from there may not use this server.',
    'Let the operator add the origin with --allow-origin.',
  ),
  server_busy: errorEntry('limit', true, 'All places are taken.', 'Try again after a while.'),
  rate_exceeded: errorEntry('limit', true, 'This token has sent too many requests.', 'Try again after a while.'),
  allowance_used: errorEntry(
    'budget',
    false,
    'The allowance of this token is used up.',
    'Wait until it is renewed, or ask the operator for more.',
  ),
  server_stopping: errorEntry('limit', true, 'The server is being stopped.', 'Try again when it is back.'),
  tokens_invalid: errorEntry(
    'config',
    false,
    'The tokens cannot be used.',
    'Correct what the message names; `cloister token <name>` prints an entry.',
  ),
  address_taken: errorEntry(
    'config',
    false,
    'The address cannot be listened on.',
    'Choose another port with --http, or stop the program that has it.',
  ),
} as const satisfies Record<string, ErrorEntry>;
