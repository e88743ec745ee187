// The operator's key signs tombstones; without one they are only chained.
import { createPublicKey, verify } from 'node:crypto';
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
