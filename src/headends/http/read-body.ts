// The body of a request: refused by what it announces, then read within its bounds, then as strict JSON.
import type { IncomingMessage } from 'node:http';
import { CloisterError, parseStrictJson } from '#base';
import type { Json } from '#base';
import type { Caller, Clock } from '#contracts';
import type { BodyBudget, OpenBody } from './body-budget.ts';
import type { HttpLimits } from './limits.ts';
import type { NodeEnv } from './node-env.ts';
import { nextBatch } from './next-batch.ts';

export type BodyReading = {
  readonly limits: Pick<HttpLimits, 'bodyBytesMax' | 'depthMax' | 'requestTimeoutMs'>;
  readonly bodies: BodyBudget;
  readonly clock: Clock;
};

/** Undefined when there is none. Throws before a byte is read when that is enough to know. */
export const readBody = async (
  request: Request,
  caller: Caller,
  options: BodyReading,
  { incoming, outgoing }: Partial<NodeEnv>,
): Promise<Json | undefined> => {
  const { bodyBytesMax, depthMax } = options.limits;
  if (hasNone(request.headers)) return undefined;
  const body = options.bodies.open(caller.name, announcedIn(request.headers, bodyBytesMax));
  try {
    // A client that asked whether it should send its body may.
    if (incoming?.headers.expect !== undefined) outgoing?.writeContinue();
    if (incoming !== undefined) await nextBatch();
    const hold = holding(body, bodyBytesMax);
    const bytes = await read(
      incoming === undefined ? readWeb(request.body, hold, options) : readNode(incoming, hold, options.clock),
    );
    const parsed = parseStrictJson(decode(bytes), depthMax);
    if ('problem' in parsed) throw new CloisterError('request_invalid', `The body: ${parsed.problem}`);
    return parsed.value;
  } finally {
    body.close();
  }
};

/** For what needs no words: a POST without a body, as clients send it. */
const hasNone = (headers: Headers): boolean =>
  !headers.has('content-type') && !headers.has('transfer-encoding') && (headers.get('content-length') ?? '0') === '0';

/** How many bytes it says that it has; 0 when it does not say. */
const announcedIn = (headers: Headers, bytesMax: number): number => {
  const type = headers.get('content-type') ?? '';
  if (!/^application\/json(?:\s*;\s*(?:charset=utf-8|charset="utf-8"))?\s*$/iu.test(type))
    throw new CloisterError('media_refused', type === '' ? 'It has no content-type.' : `It says ${type.slice(0, 80)}.`);
  if (headers.has('content-encoding') || (headers.get('transfer-encoding') ?? 'chunked').toLowerCase() !== 'chunked')
    throw new CloisterError('media_refused', 'It is encoded; send it as it is.');
  const length = Number(headers.get('content-length') ?? 0);
  if (length > bytesMax) throw tooLarge(bytesMax);
  // Without a socket nobody has looked at it.
  return length >= 0 ? length : 0;
};

/** Takes what is there of a body by now. Throws when that is too much. */
type Hold = (bytes: number) => void;

const holding =
  (body: OpenBody, bytesMax: number): Hold =>
  (bytes) => {
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    body.hold(bytes);
  };

const read = async (bytes: Promise<Uint8Array>): Promise<Uint8Array> => {
  try {
    return await bytes;
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    // Whoever sent it went away in the middle.
    throw new CloisterError('cancelled', undefined, { cause: error });
  }
};

/**
 * By its events: to iterate it, or to read it through a web stream, takes longer than all the rest of a small request. How long it may
 * take is the server's concern.
 */
const readNode = (incoming: IncomingMessage, hold: Hold, clock: Clock): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    // It may have gone while others were waited for.
    if (incoming.destroyed) return reject(new Error('It is closed.'));
    /** Null: nothing more is waited for. */
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
        // Whoever sends on is cut off, once it could read why.
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
    // Every request is closed in the end, and errors are dear.
    incoming.once('close', () => parts !== null && refuse(new Error('It was closed in the middle.')));
  });

const lingerMs = 500;

const readWeb = async (
  body: ReadableStream<Uint8Array> | null,
  hold: Hold,
  { clock, limits }: BodyReading,
): Promise<Uint8Array> => {
  const reader = body?.getReader();
  const late = Promise.withResolvers<never>();
  const stop = clock.timer(limits.requestTimeoutMs, () => late.reject(new CloisterError('request_timeout')));
  const parts: Uint8Array[] = [];
  let bytes = 0;
  try {
    for (;;) {
      const { value } = (await Promise.race([reader?.read(), late.promise])) ?? {};
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
    throw new CloisterError('request_invalid', 'The body: It is not UTF-8.');
  }
};

const tooLarge = (bytesMax: number): CloisterError =>
  new CloisterError('request_too_large', `A body has at most ${bytesMax} bytes.`);
