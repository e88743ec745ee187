// Translates failures of a server into errors of the catalogue.
import { CloisterError } from '#base';
import type { ResolvedServer } from '#contracts';
import { serverTitle } from './server.ts';

/** The server no longer knows the session. Nothing was done, so the call can be repeated in a new session. */
export class SessionExpiredError extends CloisterError {}

/** Why the server cannot be used. */
export const connectFailure = (error: unknown, server: ResolvedServer): CloisterError => {
  const known = findCloisterError(error);
  if (known !== undefined) return known;
  const status = httpStatusOf(error);
  if (status !== undefined) return new CloisterError('server_failed', `${serverTitle(server)} ${statusAdvice(status)}`);
  return new CloisterError('server_failed', `${serverTitle(server)} failed: ${describeReason(error)}`, {
    cause: error,
  });
};

/** The server did not respond at all. */
export const unreachableError = (error: unknown, server: ResolvedServer): CloisterError =>
  new CloisterError(
    'server_failed',
    `${serverTitle(server)} is unreachable (${describeReason(error)}); check that it is running and that \`url\` is correct.`,
    { cause: error },
  );

/** Why a call returned no result. An error response about the call is a failure of the tool, not of the server. */
export const callFailure = (error: unknown, server: ResolvedServer, hadSession: boolean): CloisterError => {
  const known = findCloisterError(error);
  if (known !== undefined) return known;
  const status = httpStatusOf(error);
  // Only for 404: after any other status the call may have been executed.
  if (hadSession && status === 404)
    return new SessionExpiredError('server_failed', `${serverTitle(server)} no longer knows the session.`);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (status === undefined && typeof code === 'number') return new CloisterError('tool_failed', describeReason(error));
  if (code === 'UNSUPPORTED_RESULT_TYPE')
    return new CloisterError('tool_failed', 'The server requested user input (elicitation), which is not supported.');
  if (code === 'INVALID_RESULT') return new CloisterError('tool_failed', 'The server returned an invalid tool result.');
  return connectFailure(error, server);
};

/** The client wraps our errors: as `cause`, or as the data of an error response made by the transport. */
const findCloisterError = (error: unknown): CloisterError | undefined => {
  let current = error;
  for (let depth = 0; depth < 5 && current instanceof Error; depth++) {
    if (current instanceof CloisterError) return current;
    if ('data' in current && current.data instanceof CloisterError) return current.data;
    current = current.cause;
  }
  return undefined;
};

const httpStatusOf = (error: unknown): number | undefined => {
  if (!(error instanceof Error)) return undefined;
  if ('status' in error && typeof error.status === 'number') return error.status;
  // Errors of the client about event streams and their POST requests.
  if ('event' in error && 'code' in error && typeof error.code === 'number') return error.code;
  const match = /\(HTTP (\d{3})\)|server response: (\d{3})/u.exec(error.message);
  return match === null ? undefined : Number(match[1] ?? match[2]);
};

const statusAdvice = (status: number): string => {
  if (status === 401 || status === 403) return `returned HTTP ${status}; check the credentials in \`headers\`.`;
  if (status === 404 || status === 405)
    return `returned HTTP ${status}; check \`url\`, and whether \`type\` should be http or sse.`;
  if (status >= 300 && status < 400) return `returned HTTP ${status}; set \`url\` to the URL it redirects to.`;
  return `returned HTTP ${status}.`;
};

/** A short reason: the system error code if there is one. A response body is not shown, because it may repeat the URL. */
export const describeReason = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown reason';
  const codes = [error.cause, error].map((at) => (at instanceof Error && 'code' in at ? at.code : undefined));
  const code = codes.find((each) => typeof each === 'string' && /^[A-Z][A-Z0-9_]+$/u.test(each));
  return typeof code === 'string' && error.name !== 'SdkError' ? code : error.message.toWellFormed();
};
