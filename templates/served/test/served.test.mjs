// The server in this process, on a free port, with the scripted model.
import assert from 'node:assert';
import { test } from 'node:test';
import { openCloister, openServer } from 'cloister';

await test('whoever has the token gets an answer, and nobody else', async () => {
  await using cloister = await openCloister({ agents: ['lead.ai'], config: 'test/offline.json', store: 'memory' });
  const server = await openServer(cloister, { port: 0 });
  const { url } = await server.listen();
  try {
    const ask = (headers) => fetch(`${url}/v1/lead?q=${encodeURIComponent('What about backups?')}`, { headers });
    const [asked, refused] = await Promise.all([ask({ authorization: `Bearer ${server.token}` }), ask({})]);
    assert.deepStrictEqual([asked.status, refused.status], [200, 401]);
    assert.match(await asked.text(), /Test the restore/u);
  } finally {
    await server.stop(0);
  }
});
