// The body of a request: refused by what it announces, then read within its bounds, then as strict JSON.
import type { IncomingMessage } from 'node:http';
import { CloisterError, strictJson } from '#base';
import type { Json } from '#base';
import type { HttpLimits } from './limits.ts';
import type { NodeEnv } from './node-env.ts';
import { together } from './together.ts';

/** Undefined when there is none. Throws before a byte is read when that is enough to know. */
export const readBody = async (
  request: Request,
  { bodyBytesMax, depthMax }: Pick<HttpLimits, 'bodyBytesMax' | 'depthMax'>,
  { incoming, outgoing }: Partial<NodeEnv>,
): Promise<Json | undefined> => {
  if (hasNone(request.headers)) return undefined;
  checkAnnounced(request.headers, bodyBytesMax);
  // A client that asked whether it should send its body may.
  if (incoming?.headers.expect !== undefined) outgoing?.writeContinue();
  if (incoming !== undefined) await together();
  const bytes = await read(request, incoming, bodyBytesMax);
  const parsed = strictJson(decode(bytes), depthMax);
  if ('problem' in parsed) throw new CloisterError('request_invalid', `The body: ${parsed.problem}`);
  return parsed.value;
};

/** For what needs no words: a POST without a body, as clients send it. */
const hasNone = (headers: Headers): boolean =>
  !headers.has('content-type') && !headers.has('transfer-encoding') && (headers.get('content-length') ?? '0') === '0';

const checkAnnounced = (headers: Headers, bytesMax: number): void => {
  const type = headers.get('content-type') ?? '';
  if (!/^application\/json(?:\s*;\s*(?:charset=utf-8|charset="utf-8"))?\s*$/iu.test(type))
    throw new CloisterError('media_refused', type === '' ? 'It has no content-type.' : `It says ${type.slice(0, 80)}.`);
  if (headers.has('content-encoding'))
    throw new CloisterError('media_refused', 'It is encoded; send it as it is, without content-encoding.');
  const length = headers.get('content-length');
  if (length !== null && Number(length) > bytesMax) throw tooLarge(bytesMax);
};

const read = async (request: Request, incoming: IncomingMessage | undefined, bytesMax: number): Promise<Uint8Array> => {
  try {
    return await (incoming === undefined ? readWeb(request.body, bytesMax) : readNode(incoming, bytesMax));
  } catch (error) {
    if (error instanceof CloisterError) throw error;
    // Whoever sent it went away in the middle.
    throw new CloisterError('cancelled', undefined, { cause: error });
  }
};

/** By its events: to iterate it, or to read it through a web stream, takes longer than all the rest of a small request. */
const readNode = (incoming: IncomingMessage, bytesMax: number): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    // It may have gone while others were waited for.
    if (incoming.destroyed) return reject(new Error('It is closed.'));
    const parts: Buffer[] = [];
    let bytes = 0;
    incoming.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes <= bytesMax) return void parts.push(part);
      incoming.pause();
      reject(tooLarge(bytesMax));
    });
    incoming.once('end', () => resolve(parts.length === 1 ? parts[0]! : Buffer.concat(parts)));
    incoming.once('error', reject);
    incoming.once('close', () => reject(new Error('It was closed in the middle.')));
  });

const readWeb = async (body: ReadableStream<Uint8Array> | null, bytesMax: number): Promise<Uint8Array> => {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    parts.push(part);
  }
  return Buffer.concat(parts);
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
