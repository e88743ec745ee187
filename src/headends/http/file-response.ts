// Files as HTTP responses.
//
//   file-own-policy. A file has the content security policy of its route; every other response keeps that of the server.
//   file-copy-checked. A copy that a client kept is used again only if its hash is still the same; nothing is opened then.
//   file-whole-or-cut. A response that does not carry all the bytes it announced is cut off, so that it does not look complete.
import { CloisterError, sha256 } from '#base';
import type { OpenRoute, PlainRoute, RouteFile } from '#contracts';
import { acceptsGzip } from './compress.ts';
import { pulledStream } from './pulled-stream.ts';
import type { PulledOptions } from './pulled-stream.ts';

/** What was requested, and of which route. */
export type FileRequest = {
  readonly method: string;
  readonly headers: Headers;
  readonly route: Pick<PlainRoute | OpenRoute, 'open' | 'files'>;
};

export const fileResponse = (
  file: RouteFile,
  { method, headers: sent, route: { files, open } }: FileRequest,
  common: Readonly<Record<string, string>>,
  streaming: PulledOptions,
): Response => {
  if (files === undefined) throw new CloisterError('defect', 'A route without `files` has answered with a file.');
  const encoded = 'bytes' in file && acceptsGzip(sent.get('accept-encoding')) ? file.gzip : undefined;
  const etag = etagOf(file, encoded === undefined ? '' : '-gzip');
  const headers = {
    ...common,
    'content-security-policy': files.policy,
    'cache-control': cacheControl(file.cache, open === true),
    vary: 'bytes' in file && file.gzip !== undefined ? 'origin, accept-encoding' : 'origin',
    ...(etag === null ? {} : { etag }),
  };
  if (etag !== null && isKept(sent.get('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  const bytes = encoded ?? ('bytes' in file ? file.bytes : undefined);
  const length = 'open' in file ? file.length : bytes!.byteLength;
  const all = {
    ...headers,
    'content-type': file.type,
    'content-length': String(length),
    ...(encoded === undefined ? {} : { 'content-encoding': 'gzip' }),
    ...(file.download === undefined ? {} : { 'content-disposition': disposition(file.download.name) }),
  };
  const { status = 200 } = file;
  if (method === 'HEAD') return new Response(null, { status, headers: all });
  const source = 'open' in file ? file.open() : wholeFile(bytes!);
  return new Response(pulledStream(exactly(length, source), streaming), { status, headers: all });
};

/** A file that is not kept needs none. */
const etagOf = (file: RouteFile, form: string): string | null => {
  if (file.cache === 'none') return null;
  const hash = file.hash ?? ('bytes' in file ? sha256(file.bytes) : undefined);
  return hash === undefined ? null : `"${hash}${form}"`;
};

const yearSeconds = 31_536_000;

const cacheControl = (cache: RouteFile['cache'], isOpen: boolean): string => {
  if (cache === 'none') return 'no-store';
  // A copy behind a token is used only after its token was checked again.
  if (!isOpen) return 'private, no-cache';
  return cache === 'immutable' ? `public, max-age=${yearSeconds}, immutable` : 'no-cache';
};

/** By the weak comparison, as RFC 9110 asks of If-None-Match. */
const isKept = (sent: string | null, etag: string): boolean =>
  sent !== null &&
  sent.split(',').some((one) => {
    const trimmed = one.trim();
    return trimmed === '*' || trimmed.replace(/^W\//u, '') === etag;
  });

/** No name can break out of the header: everything but letters, digits and a few marks is encoded. */
const disposition = (name: string | undefined): string => {
  if (name === undefined) return 'attachment';
  const encoded = encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*!]/gu,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename*=UTF-8''${encoded}`;
};

/**
 * Throws as soon as there are more bytes than announced, or at the end if there are fewer. Not a generator: a generator cannot be
 * ended while it waits for the next bytes.
 */
const exactly = (length: number, source: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => {
    const iterator = source[Symbol.asyncIterator]();
    let bytes = 0;
    return {
      next: async () => {
        const part = await iterator.next();
        if (part.done === true) {
          if (bytes < length) throw new CloisterError('defect', `A file of ${length} bytes ended after ${bytes}.`);
          return part;
        }
        bytes += part.value.byteLength;
        if (bytes <= length) return part;
        iterator.return?.().then(undefined, () => undefined);
        throw new CloisterError('defect', `A file is longer than its ${length} bytes.`);
      },
      return: async () => {
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    };
  },
});

async function* wholeFile(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
