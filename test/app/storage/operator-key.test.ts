// The operator's key signs tombstones; without one they are only chained.
import { createPublicKey, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineAgent, defineTool, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { makeOperatorKey } from '#app/storage';
import { canonicalJson } from '#base';
import { newWorkspace, openTalk, takeTurn } from '../conversations-driver.ts';

test('a tombstone is signed with the key in CLOISTER_KEY, over all that it says', async () => {
  const { secret, publicKey } = makeOperatorKey();
  const { cloister } = await openTalk({ workspace: newWorkspace(), env: { CLOISTER_KEY: secret } });
  const { run } = await takeTurn({ cloister }, 'Hello.');
  await cloister.storage.delete({ runs: [run] }, { why: 'A test.' });
  const { signature, ...facts } = (await cloister.storage.tombstone(run))!;
  expect(facts.key).toBe(publicKey);
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
  const isSigned = (value: typeof facts): boolean =>
    verify(null, Buffer.from(`cloister tombstone\n${canonicalJson(value)}`), key, Buffer.from(signature!, 'base64url'));
  expect(isSigned(facts)).toBe(true);
  expect(isSigned({ ...facts, why: 'Another reason.' })).toBe(false);
});

test('what is no key is refused before anything is deleted, and is not shown', async () => {
  const { secret } = makeOperatorKey();
  const other = makeOperatorKey().secret;
  for (const text of ['no-key', secret.slice(1), secret.slice(0, 43) + other.slice(43)]) {
    const { cloister } = await openTalk({ workspace: newWorkspace(), env: { CLOISTER_KEY: text } });
    const { run } = await takeTurn({ cloister }, 'Hello.');
    const refusal = cloister.storage.delete({ runs: [run] });
    await expect(refusal).rejects.toMatchObject({ code: 'options_invalid' });
    await expect(refusal).rejects.not.toThrow(text);
    expect(await cloister.runs()).toHaveLength(1);
  }
});

test('the operator’s key, or the half of it that signs, is in no record, event or answer, wherever a tool finds it', async () => {
  const { secret, publicKey } = makeOperatorKey();
  const half = secret.slice(0, 43);
  const folder = newWorkspace();
  // One agent in code, and one from a file: their secrets are collected in different places.
  writeFileSync(
    join(folder, 'scout.ai'),
    '---\ndescription: Looks.\nusage: Ask.\nmodels: [test/some]\noutput: { format: text }\n---\nLook.\n',
  );
  writeFileSync(
    join(folder, '.ai-agent.json'),
    JSON.stringify({ providers: { test: { type: 'rehearsal', script: 'script.yaml' } } }),
  );
  writeFileSync(join(folder, 'script.yaml'), `lines:\n  - reply: The key is ${secret}.\n`);
  const env = defineTool({
    name: 'env',
    description: 'Lists variables.',
    inputSchema: { type: 'object', properties: {} },
    execute: () => `CLOISTER_KEY=${secret} ${half}`,
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: '',
    tools: [env],
    models: [
      rehearse([
        { when: { turn: 1 }, reply: { calls: [{ tool: 'env', args: {} }] } },
        { reply: `${half} or ${secret}` },
      ]).model,
    ],
  });
  for (const agent of [lead, 'scout.ai']) {
    await using cloister = await openCloister({
      agents: [agent],
      store: 'memory',
      cwd: folder,
      env: { CLOISTER_KEY: secret },
    });
    const session = cloister.run(typeof agent === 'string' ? 'scout' : 'lead', 'Go.');
    const seen: unknown[] = [];
    for await (const event of session) seen.push(event);
    const outcome = await session.outcome;
    seen.push(outcome, await cloister.transcript(outcome.run), cloister.redact(`${secret} ${half}`));
    expect(outcome.status).toBe('completed');
    expect(JSON.stringify(seen)).not.toContain(half);
    expect(cloister.redact(publicKey)).toBe(publicKey);
  }
});
