// Compresses responses for clients that accept gzip.
//
//   compressed-stream-not-held-back. Whatever is written to a compressed stream can be read by the client at once.
import { constants, createGzip, gzip } from 'node:zlib';
import type { PulledOptions } from './pulled-stream.ts';

/** Shorter texts are sent as they are: they fit into a few packets anyway. */
export const compressedCharsMin = 4 * 1024;

/** Only a client that names gzip gets it. */
export const acceptsGzip = (header: string | null): boolean =>
  header !== null &&
  header.split(',').some((one) => {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase());
    return (name === 'gzip' || name === 'x-gzip') && !parameters.some((part) => /^q=0(?:\.0*)?$/u.test(part));
  });

export const compressText = (text: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Promise((resolve, reject) =>
    gzip(text, (error, bytes) => {
      if (error === null) resolve(bytes);
      else reject(error);
    }),
  );

/** A small window: there may be thousands of streams, and events repeat themselves within a few kilobytes. */
const streamSettings = { windowBits: 13, memLevel: 5, flush: constants.Z_SYNC_FLUSH };

export const openStreamEncoder = (): NonNullable<PulledOptions['encoder']> => {
  const stream = createGzip(streamSettings);
  let parts: Uint8Array[] = [];
  // Without a listener, an error of a stream that nobody waits for would end the process.
  stream.on('error', () => undefined);
  stream.on('data', (part: Uint8Array) => parts.push(part));
  const taken = (): Uint8Array => {
    // What is still in the stream comes as `data` now.
    while (stream.readableLength > 0) stream.read();
    const bytes = Buffer.concat(parts);
    parts = [];
    return bytes;
  };
  return {
    encode: (bytes) =>
      new Promise((resolve, reject) =>
        stream.write(bytes, (error) => {
          if (error) reject(error);
          else resolve(taken());
        }),
      ),
    end: () =>
      new Promise((resolve, reject) => {
        stream.once('error', reject);
        stream.once('end', () => resolve(taken()));
        stream.end();
      }),
    close: () => void stream.destroy(),
  };
};
