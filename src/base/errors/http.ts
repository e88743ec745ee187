// Failures between a client and the server.
import { errorEntry } from './error-entry.ts';
import type { ErrorEntry } from './error-entry.ts';

export const httpErrors = {
  key_reused: errorEntry(
    'config',
    false,
    'The Idempotency-Key was used for another request.',
    'Send a new key with a new request.',
  ),
  request_invalid: errorEntry(
    'config',
    false,
    'The request is invalid.',
    'Fix what the message names; GET /openapi.json documents every request.',
  ),
  request_unsupported: errorEntry(
    'config',
    false,
    'The request uses a feature that is not supported.',
    'Do what the message says, or leave out what it names.',
  ),
  request_timeout: errorEntry(
    'timeout',
    true,
    'The request was not received in time.',
    'Send it again without pausing.',
  ),
  request_too_large: errorEntry('limit', false, 'The request is too large.', 'Send a smaller request.'),
  media_refused: errorEntry(
    'config',
    false,
    'Unsupported media type: the body must be uncompressed JSON.',
    'Send the header content-type: application/json.',
  ),
  method_refused: errorEntry(
    'config',
    false,
    'Method not allowed for this URL.',
    'Use the method named in the message.',
  ),
  attachment_unknown: errorEntry(
    'config',
    false,
    'The run has no file with this hash.',
    'GET /v1/runs/:run/messages lists the files of a run.',
  ),
  route_unknown: errorEntry('config', false, 'No such URL.', 'GET /openapi.json lists all URLs.'),
  token_refused: errorEntry(
    'auth',
    false,
    'The token is missing or wrong.',
    'Send the header authorization: Bearer <token>; the operator issues tokens.',
  ),
  watch_only: errorEntry(
    'policy',
    false,
    'This token may only watch runs; it starts, sends and stops nothing.',
    'Use another token; the operator issues tokens.',
  ),
  host_refused: errorEntry(
    'policy',
    false,
    'This host name is not allowed.',
    'Use the URL that the server printed, or ask the operator to add the name with --allow-host.',
  ),
  origin_refused: errorEntry(
    'policy',
    false,
    'This web origin is not allowed.',
    'Ask the operator to add it with --allow-origin.',
  ),
  server_busy: errorEntry('limit', true, 'The server is at capacity.', 'Retry later.'),
  rate_exceeded: errorEntry('limit', true, 'This token has exceeded its request rate limit.', 'Retry later.'),
  allowance_used: errorEntry(
    'budget',
    false,
    'This token has used up its allowance.',
    'Wait until it resets, or ask the operator to raise it.',
  ),
  server_stopping: errorEntry('limit', true, 'The server is shutting down.', 'Retry when it is back.'),
  tokens_invalid: errorEntry(
    'config',
    false,
    'The token list is invalid.',
    'Fix what the message names; `cloister token <name>` prints a valid entry.',
  ),
  signature_refused: errorEntry(
    'auth',
    false,
    'The request is not signed by Slack, or its signature is too old.',
    'Check `slack.signingSecret` and the clock of this machine; only Slack may call this address.',
  ),
  slack_failed: errorEntry(
    'config',
    false,
    'Slack cannot be used.',
    'Do what the message says; docs/SLACK.md describes the set-up.',
  ),
  address_taken: errorEntry(
    'config',
    false,
    'Cannot listen on this address.',
    'Choose another port with --http, or stop the process that uses it.',
  ),
} as const satisfies Record<string, ErrorEntry>;
