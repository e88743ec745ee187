// Reads the body of a request: checks its headers, reads it within the limits, and parses it as strict JSON, or keeps its bytes
// for a route that takes other media types.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CloisterError, parseStrictJson } from '#base';
import type { Json } from '#base';
import type { Clock } from '#contracts';
import type { BodyBudget, OpenBody } from './body-budget.ts';
import type { HttpLimits } from './limits.ts';

type ReadBodyOptions = {
  readonly limits: Pick<HttpLimits, 'bodyBytesMax' | 'depthMax' | 'requestTimeoutMs'>;
  readonly bodies: BodyBudget;
  readonly clock: Clock;
};

/** `json`: undefined if there is no body, or one of another type. `bytes`: only for a route that takes other types. */
type ReceivedBody = { readonly json: Json | undefined; readonly bytes?: Uint8Array };

type BodyDestination = {
  /** Whose share of the room for bodies it takes. */
  readonly owner: string;
  /** Media types besides JSON. */
  readonly takes: readonly string[] | undefined;
};

/** Throws before any byte is read if the headers are reason enough. */
export const readBody = async (
  request: Request,
  { owner, takes }: BodyDestination,
  options: ReadBodyOptions,
  { incoming, outgoing }: Partial<NodeEnv>,
): Promise<ReceivedBody> => {
  const { bodyBytesMax, depthMax } = options.limits;
  const { headers } = request;
  if (hasNoBody(headers))
    return takes === undefined ? { json: undefined } : { json: undefined, bytes: new Uint8Array() };
  const isJson = checkMediaType(headers, takes);
  const body = options.bodies.open(owner, announcedBytes(headers, bodyBytesMax));
  try {
    // The client waits for permission to send its body.
    if (incoming?.headers.expect !== undefined) outgoing?.writeContinue();
    if (incoming !== undefined) await nextBatch();
    const hold = boundedHold(body, bodyBytesMax);
    const bytes = await readOrCancel(
      incoming === undefined ? readWeb(request.body, hold, options) : readNode(incoming, hold, options.clock),
    );
    if (takes === undefined) return { json: parseBody(bytes, depthMax) };
    return { json: isJson ? parseBody(bytes, depthMax) : undefined, bytes };
  } finally {
    body.close();
  }
};

const parseBody = (bytes: Uint8Array, depthMax: number): Json => {
  const parsed = parseStrictJson(decode(bytes), depthMax);
  if ('problem' in parsed) throw new CloisterError('request_invalid', `The body: ${parsed.problem}`);
  return parsed.value;
};

/** Some POST requests need no body, and clients then send neither a type nor a length. */
const hasNoBody = (headers: Headers): boolean =>
  !headers.has('content-type') && !headers.has('transfer-encoding') && (headers.get('content-length') ?? '0') === '0';

/** Whether it is JSON; otherwise it is one of the types that the route takes. */
const checkMediaType = (headers: Headers, takes: readonly string[] = []): boolean => {
  const type = headers.get('content-type') ?? '';
  if (/^application\/json(?:\s*;\s*(?:charset=utf-8|charset="utf-8"))?\s*$/iu.test(type)) return true;
  // Two headers are joined by a comma, and their first type must not pass for both.
  if (!type.includes(',') && takes.includes(type.split(';')[0]!.trim().toLowerCase())) return false;
  throw new CloisterError(
    'media_refused',
    type === '' ? 'It has no content-type.' : `Its content-type is ${type.slice(0, 80)}.`,
  );
};

/** The announced number of bytes; 0 if none is announced. */
const announcedBytes = (headers: Headers, bytesMax: number): number => {
  if (headers.has('content-encoding') || (headers.get('transfer-encoding') ?? 'chunked').toLowerCase() !== 'chunked')
    throw new CloisterError('media_refused', 'Content-Encoding is not supported; send the body uncompressed.');
  const length = Number(headers.get('content-length') ?? 0);
  if (length > bytesMax) throw tooLarge(bytesMax);
  // Node validates this header; without a socket nothing has.
  return length >= 0 ? length : 0;
};

/** Reports how many bytes have been received. Throws if they are too many. */
type Hold = (bytes: number) => void;

const boundedHold =
  (body: OpenBody, bytesMax: number): Hold =>
  (bytes) => {
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    body.hold(bytes);
  };

const readOrCancel = async (bytes: Promise<Uint8Array>): Promise<Uint8Array> => {
  try {
    return await bytes;
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    // The client disconnected before the body was complete.
    throw new CloisterError('cancelled', undefined, { cause: error });
  }
};

/**
 * Reads by events: iterating the request, or reading it through a web stream, takes longer than everything else about a small request.
 * The server itself enforces the time limit.
 */
const readNode = (incoming: IncomingMessage, hold: Hold, clock: Clock): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    // The client may have disconnected while the batch was being collected.
    if (incoming.destroyed) return reject(new Error('The request is closed.'));
    /** Null once the result is settled. */
    let parts: Buffer[] | null = [];
    let bytes = 0;
    const refuse = (error: unknown): void => {
      parts = null;
      reject(error);
    };
    incoming.on('data', (part: Buffer) => {
      if (parts === null) return;
      try {
        hold((bytes += part.length));
        parts.push(part);
      } catch (error) {
        refuse(error);
        // A client that keeps sending is cut off, after it has had time to read the refusal.
        incoming.once(
          'close',
          clock.timer(lingerMs, () => incoming.destroy()),
        );
      }
    });
    incoming.once('end', () => {
      if (parts !== null) resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
      parts = null;
    });
    incoming.once('error', refuse);
    // Every request closes in the end, and creating an Error is slow, so one is made only if the body is incomplete.
    incoming.once(
      'close',
      () => parts !== null && refuse(new Error('The request was closed before its body was complete.')),
    );
  });

const lingerMs = 500;

const readWeb = async (
  body: ReadableStream<Uint8Array> | null,
  hold: Hold,
  { clock, limits }: ReadBodyOptions,
): Promise<Uint8Array> => {
  const reader = body?.getReader();
  const timeout = Promise.withResolvers<never>();
  const stop = clock.timer(limits.requestTimeoutMs, () => timeout.reject(new CloisterError('request_timeout')));
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { value } = (await Promise.race([reader?.read(), timeout.promise])) ?? {};
      if (value === undefined) return Buffer.concat(parts);
      hold((bytes += value.length));
      parts.push(value);
    }
  } catch (error) {
    reader?.cancel().catch(() => undefined);
    throw error;
  } finally {
    stop();
  }
};

const decoder = new TextDecoder('utf-8', { fatal: true });

const decode = (bytes: Uint8Array): string => {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new CloisterError('request_invalid', 'The body is not valid UTF-8.');
  }
};

const tooLarge = (bytesMax: number): CloisterError =>
  new CloisterError('request_too_large', `A body may have at most ${bytesMax} bytes.`);

// Requests that arrive in one tick start together. Their runs then take the same step one after the other, and the code of that step is
// still in the processor's cache. Handling one whole run after the other takes twice as long.

let batch: Promise<void> | undefined;

/** Resolves for all waiting requests once everything that has arrived so far is read. */
export const nextBatch = (): Promise<void> =>
  (batch ??= new Promise((resolve) => {
    setImmediate(() => {
      batch = undefined;
      resolve();
    });
  }));

// What the Node adapter passes along with a request.
export type NodeEnv = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };
