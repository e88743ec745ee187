// What went wrong with a server, in the words of the catalogue.
import { CloisterError } from '#base';
import type { ResolvedServer } from '#contracts';
import { serverTitle } from './server.ts';

/** The server no longer knows the session: nothing was done, so the same call may be made in a new one. */
export class SessionExpiredError extends CloisterError {}

/** Why it cannot be talked to. */
export const connectFailure = (error: unknown, server: ResolvedServer): CloisterError => {
  const ours = oursIn(error);
  if (ours !== undefined) return ours;
  const status = statusOf(error);
  if (status !== undefined) return new CloisterError('server_failed', `${serverTitle(server)} ${statusAdvice(status)}`);
  return new CloisterError('server_failed', `${serverTitle(server)} could not be used: ${reasonOf(error)}`, {
    cause: error,
  });
};

/** It did not even come to an answer. */
export const unreachable = (error: unknown, server: ResolvedServer): CloisterError =>
  new CloisterError(
    'server_failed',
    `${serverTitle(server)} could not be reached (${reasonOf(error)}): check that it runs and that \`url\` is right.`,
    { cause: error },
  );

/** Why a call gave no result. What the server says of the call itself is the tool's failure, not the server's. */
export const callFailure = (error: unknown, server: ResolvedServer, hadSession: boolean): CloisterError => {
  const ours = oursIn(error);
  if (ours !== undefined) return ours;
  const status = statusOf(error);
  // Only that it is not found: after anything else the call may have been made.
  if (hadSession && status === 404)
    return new SessionExpiredError('server_failed', `${serverTitle(server)} no longer knows the session.`);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (status === undefined && typeof code === 'number') return new CloisterError('tool_failed', reasonOf(error));
  if (code === 'UNSUPPORTED_RESULT_TYPE')
    return new CloisterError(
      'tool_failed',
      'It asks back for input before it answers, which is not offered to servers.',
    );
  if (code === 'INVALID_RESULT') return new CloisterError('tool_failed', 'What it answered is not a tool result.');
  return connectFailure(error, server);
};

/** The client wraps what we throw: as cause, or as the data of an error response that a wire made. */
const oursIn = (error: unknown): CloisterError | undefined => {
  let at = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    if (at instanceof CloisterError) return at;
    if ('data' in at && at.data instanceof CloisterError) return at.data;
    at = at.cause;
  }
  return undefined;
};

const statusOf = (error: unknown): number | undefined => {
  if (!(error instanceof Error)) return undefined;
  if ('status' in error && typeof error.status === 'number') return error.status;
  // The client's errors about event streams, and about what is posted beside them.
  if ('event' in error && 'code' in error && typeof error.code === 'number') return error.code;
  const said = /\(HTTP (\d{3})\)|server response: (\d{3})/u.exec(error.message);
  return said === null ? undefined : Number(said[1] ?? said[2]);
};

const statusAdvice = (status: number): string => {
  if (status === 401 || status === 403) return `answered HTTP ${status}: check the credentials in \`headers\`.`;
  if (status === 404 || status === 405)
    return `answered HTTP ${status}: check \`url\`, and whether \`type\` should be http or sse.`;
  if (status >= 300 && status < 400) return `answered HTTP ${status}: set \`url\` to the address it leads to.`;
  return `answered HTTP ${status}.`;
};

/** Few words: the system's code where there is one. A server's body is not shown, it may repeat the address. */
export const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'no reason given';
  const codes = [error.cause, error].map((at) => (at instanceof Error && 'code' in at ? at.code : undefined));
  const code = codes.find((each) => typeof each === 'string' && /^[A-Z][A-Z0-9_]+$/u.test(each));
  return typeof code === 'string' && error.name !== 'SdkError' ? code : error.message.toWellFormed();
};
