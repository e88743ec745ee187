// The page of the studio over HTTP: for everybody, under its own policy, and never a failure.
// invariants: page-loads-nothing-foreign, page-never-fails
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openCloister } from 'cloister';
import { buildServer } from '../../../src/app/build-server.ts';
import { gatedAgent } from '../../app/serve/gated-agent.ts';

const files = new Map([
  ['index.html', Buffer.from('<!doctype html><script type="module" src="/assets/index-1.js"></script>')],
  ['favicon.svg', Buffer.from('<svg/>')],
  ['file.html', Buffer.from('whole')],
  ['assets/index-1.js', Buffer.from('export const words = "more";\n'.repeat(500))],
  ['assets/style-1.css', Buffer.from('body {}')],
]);

const serve = async (page?: () => Promise<ReadonlyMap<string, Uint8Array>>) => {
  const cloister = await openCloister({ agents: [gatedAgent('lead').agent], store: 'memory' });
  onTestFinished(() => cloister.close());
  const server = await buildServer(cloister, {}, page === undefined ? {} : { page });
  return (path: string, init: RequestInit = {}) => server.fetch(new Request(`http://127.0.0.1${path}`, init));
};

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

describe('the page', () => {
  test.each([
    ['/', 'index.html', 'text/html; charset=utf-8', 'no-cache'],
    ['/favicon.svg', 'favicon.svg', 'image/svg+xml', 'no-cache'],
    ['/favicon.ico', 'favicon.svg', 'image/svg+xml', 'no-cache'],
    [
      '/assets/index-1.js',
      'assets/index-1.js',
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ],
    ['/assets/style-1.css', 'assets/style-1.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable'],
  ])('is answered to everybody: %s', async (path, name, type, cache) => {
    const get = await serve(async () => files);
    const response = await get(path);
    expect(response.status).toBe(200);
    expect(Buffer.from(await response.arrayBuffer())).toEqual(files.get(name));
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': type,
      'cache-control': cache,
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
    });
    const head = await get(path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
      200,
      String(files.get(name)!.length),
      '',
    ]);
    const kept = await get(path, { headers: { 'if-none-match': response.headers.get('etag')! } });
    expect(kept.status).toBe(304);
  });

  test('is compressed for a browser that says so, with its own tag', async () => {
    const get = await serve(async () => files);
    const [plain, packed] = [
      await get('/assets/index-1.js'),
      await get('/assets/index-1.js', { headers: { 'accept-encoding': 'gzip, br' } }),
    ];
    const bytes = Buffer.from(await packed.arrayBuffer());
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    expect(packed.headers.get('content-length')).toBe(String(bytes.length));
    expect(bytes.length).toBeLessThan(500);
    expect(gunzipSync(bytes)).toEqual(files.get('assets/index-1.js'));
    expect(packed.headers.get('vary')).toContain('accept-encoding');
    expect(packed.headers.get('etag')).not.toBe(plain.headers.get('etag'));
  });

  test('has no other files than its own, and no path leads out of them', async () => {
    const get = await serve(async () => files);
    for (const path of [
      '/file.html',
      '/index.html',
      '/assets/',
      '/assets/none.js',
      '/assets/..%2findex.html',
      '/web',
    ]) {
      const response = await get(path);
      expect([path, response.status >= 400]).toEqual([path, true]);
      expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
    }
    expect((await get('/', { method: 'POST', body: '{}' })).status).toBeGreaterThanOrEqual(400);
  });

  test('is loaded once, and again only after it failed', async () => {
    let loads = 0;
    const get = await serve(async () => {
      loads += 1;
      if (loads === 1) throw new Error('no vite in /secret/place');
      return files;
    });
    const missing = await get('/');
    const text = await missing.text();
    expect([missing.status, missing.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect(text).toContain('The page of the studio is not built.');
    expect(text).not.toContain('secret');
    expect((await get('/')).status).toBe(200);
    expect((await get('/assets/index-1.js')).status).toBe(200);
    expect(loads).toBe(2);
  });

  test('of this clone is built when it is first opened, and loads only what it names', async () => {
    const get = await serve();
    const response = await get('/');
    const html = await response.text();
    expect([response.status, html]).toEqual([200, expect.stringContaining('<title>Cloister</title>')]);
    const named = [...html.matchAll(/(?:src|href)="([^"]+)"/gu)].map(([, path]) => path!);
    expect(named.length).toBeGreaterThan(1);
    for (const path of named) expect([path, (await get(path)).status]).toEqual([path, 200]);
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=|https?:/u);
  });
});
