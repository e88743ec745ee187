// Routes that answer with the page of the studio and its files, to everybody: the page itself holds nothing of any run, and whoever
// opens it needs a token for everything that it shows.
//
//   page-loads-nothing-foreign. Its content security policy allows scripts, styles and requests of this server only, no inline
//       script, and no markup from text at all.
//   page-never-fails. A server without a built page says so in words; everything else of it works.
import { gzip } from 'node:zlib';
import { promisify } from 'node:util';
import { CloisterError, sha256 } from '#base';
import type { ErrorFormatter, OpenRoute, RouteFile, RouteReply } from '#contracts';

/** By path: `index.html`, `favicon.svg`, `assets/…`. */
export type PageFiles = ReadonlyMap<string, Uint8Array>;

type PageWorld = {
  /** Rejects if the page is not built and cannot be. */
  readonly load: () => Promise<PageFiles>;
  readonly formatError: ErrorFormatter;
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob: data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

export const pageRoutes = ({ load, formatError }: PageWorld): readonly OpenRoute[] => {
  let files: Promise<ServedFiles> | undefined;
  // After a failure, the next visitor tries again.
  const served = (): Promise<ServedFiles> =>
    (files ??= prepareFiles(load).catch((error: unknown) => {
      files = undefined;
      throw error;
    }));
  const route = (path: string, answer: OpenRoute['answer']): OpenRoute => ({
    method: 'GET',
    path,
    open: true,
    files: { policy },
    formatError,
    answer,
  });
  const fixed = (path: string, name: string): OpenRoute =>
    route(path, async () => {
      try {
        return found(await served(), name);
      } catch (error) {
        if (error instanceof CloisterError) throw error;
        return { file: notBuilt };
      }
    });
  return [
    fixed('/', 'index.html'),
    fixed('/favicon.svg', 'favicon.svg'),
    // Some browsers ask for it, whatever the page says.
    fixed('/favicon.ico', 'favicon.svg'),
    route('/assets/:file', async ({ params }) =>
      found(await served().catch(() => new Map()), `assets/${params['file'] ?? ''}`),
    ),
  ];
};

type ServedFiles = ReadonlyMap<string, RouteFile>;

const found = (files: ServedFiles, name: string): RouteReply => {
  const file = files.get(name);
  if (file === undefined) throw new CloisterError('route_unknown');
  return { file };
};

/** Hashed and compressed once. The names of assets contain a hash of their content, so a copy of one never changes. */
const prepareFiles = async (load: () => Promise<PageFiles>): Promise<ServedFiles> => {
  const prepared = [...(await load())].map(async ([name, bytes]) => {
    const file: RouteFile = {
      type: mediaTypes[/\.\w+$/u.exec(name)?.[0] ?? ''] ?? 'application/octet-stream',
      bytes,
      gzip: await compress(bytes, { level: 9 }),
      hash: sha256(bytes),
      cache: name.startsWith('assets/') ? 'immutable' : 'revalidate',
    };
    return [name, file] as const;
  });
  return new Map(await Promise.all(prepared));
};

const compress: (bytes: Uint8Array, options: { readonly level: number }) => Promise<Uint8Array> = promisify(gzip);

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

const notBuilt: RouteFile = {
  status: 503,
  type: 'text/plain; charset=utf-8',
  bytes: Buffer.from(
    'The page of the studio is not built.\n' +
      'In a clone of Cloister, install its tools with `npm ci` and reload; `node tools/build-web.ts` says what is wrong.\n' +
      'Everything else of this server works: see /openapi.json.\n',
  ),
  cache: 'none',
};
