// Downloads of files that came with messages: the caller's own, byte for byte, and harmless to whoever opens them.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { defineAgent, hashToken } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { pngOf } from '../../app/sample-files.ts';
import { serveAgents } from '../http/driver.ts';

const hashOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const [png, older] = [pngOf(40, 30), pngOf(30, 40)];
const text = '<script>alert(1)</script> Grüße';

const serveBoth = async () => {
  const agent = defineAgent({
    name: 'echo',
    description: 'd',
    prompt: 'p',
    models: [rehearse([{ reply: 'Seen.' }]).model],
  });
  const tokens = ['ann', 'ben'].map((name) => ({ name, sha256: hashToken(name) }));
  const served = await serveAgents({ agents: [agent], tokens });
  const ask = (token: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(served.url + path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...init.headers },
    });
  const body = JSON.stringify({
    input: 'Look.',
    attachments: [
      { mediaType: 'image/png', data: base64(png), name: 'Plan "A"\u00fc.png' },
      { mediaType: 'text/html', data: base64(Buffer.from(text)) },
    ],
    history: [
      {
        by: 'person',
        text: 'Earlier.',
        attachments: [{ mediaType: 'image/png', data: base64(older) }],
      },
      { by: 'agent', text: 'Yes.' },
    ],
  });
  const answered = await ask('ann', '/v1/echo', { method: 'POST', body });
  const { run } = (await answered.json()) as { run: string };
  return { ...served, ask, run, at: (hash: string): string => `/v1/runs/${run}/attachments/${hash}` };
};

// invariants: file-own-policy, file-copy-checked
test('a caller downloads the files of its own run, those of earlier messages too', async () => {
  const { ask, at, run } = await serveBoth();
  for (const [bytes, type, disposition] of [
    [png, 'image/png', "attachment; filename*=UTF-8''Plan%20%22A%22%C3%BC.png"],
    [Buffer.from(text), 'text/html; charset=utf-8', 'attachment'],
    [older, 'image/png', 'attachment'],
  ] as const) {
    const etag = `"${hashOf(bytes)}"`;
    const headers = {
      'content-type': type,
      'content-length': String(bytes.length),
      'content-disposition': disposition,
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'cache-control': 'private, no-cache',
      'x-content-type-options': 'nosniff',
      etag,
    };
    const response = await ask('ann', at(hashOf(bytes)));
    expect(Object.fromEntries(response.headers)).toMatchObject(headers);
    expect([response.status, Buffer.from(await response.arrayBuffer())]).toEqual([200, Buffer.from(bytes)]);
    const head = await ask('ann', at(hashOf(bytes)), { method: 'HEAD' });
    expect([head.status, Object.fromEntries(head.headers)]).toMatchObject([200, headers]);
    expect((await ask('ann', at(hashOf(bytes)), { headers: { 'if-none-match': etag } })).status).toBe(304);
  }
  const { messages } = (await (await ask('ann', `/v1/runs/${run}/messages`)).json()) as {
    messages: { attachments?: { sha256?: string }[] }[];
  };
  const listed = messages.flatMap(({ attachments = [] }) => attachments.flatMap(({ sha256 }) => sha256 ?? []));
  expect(listed).toEqual([hashOf(older), hashOf(png)]);
});

// invariant: run-belongs-to-caller
test('nobody else gets them, whatever hash and copy they name', async () => {
  const { ask, at, run } = await serveBoth();
  const etag = `"${hashOf(png)}"`;
  const never = await ask('ben', `/v1/runs/ffffffffffff/attachments/${hashOf(png)}`);
  for (const headers of [{}, { 'if-none-match': etag }, { 'if-none-match': '*' }]) {
    const refused = await ask('ben', at(hashOf(png)), { headers });
    expect(refused.status).toBe(404);
    expect(refused.headers.get('etag')).toBe(null);
    if (Object.keys(headers).length === 0) expect(await refused.text()).toBe(await never.text());
  }
  expect((await ask('wrong', at(hashOf(png)))).status).toBe(401);
  for (const hash of [hashOf('x'), hashOf(png).toUpperCase(), hashOf(png).slice(0, 12), '..%2f..%2fetc', '__proto__']) {
    const refused = await ask('ann', at(hash));
    expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: 'attachment_unknown' } }]);
    expect(refused.headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'");
  }
  // A file of another run is none of this one.
  const other = (await (
    await ask('ann', '/v1/echo', { method: 'POST', body: JSON.stringify({ input: 'Go.' }) })
  ).json()) as { run: string };
  expect(other.run).not.toBe(run);
  expect((await ask('ann', `/v1/runs/${other.run}/attachments/${hashOf(png)}`)).status).toBe(404);
});
