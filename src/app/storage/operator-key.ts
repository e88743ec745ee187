// The operator's key: signs tombstones and seals, so that whoever has only the workspace cannot make them.
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { canonicalJson, CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import { operatorKeyVariable } from '#core/registry';

export type OperatorKey = {
  /** 32 bytes in base64url. */
  readonly publicKey: string;
  /** In base64url. `kind`: what is signed, so that a signature of one kind never passes for another. */
  sign(kind: SignedKind, value: JsonObject): string;
};

type SignedKind = 'tombstone' | 'seal';

/** `secret` goes into the environment of the operator, and nowhere else. */
export const makeOperatorKey = (): { readonly secret: string; readonly publicKey: string } => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  return { secret: d + x, publicKey: x };
};

/** Throws `options_invalid`; the message does not contain the text. */
export const readOperatorKey = (text: string): OperatorKey => {
  const problem = `${operatorKeyVariable} is not a key that \`cloister key\` has made.`;
  if (!/^[\w-]{86}$/u.test(text)) throw new CloisterError('options_invalid', problem);
  const [d, publicKey] = [text.slice(0, 43), text.slice(43)];
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x: publicKey }, format: 'jwk' });
  } catch (error) {
    throw new CloisterError('options_invalid', problem, { cause: error });
  }
  const own: OperatorKey = {
    publicKey,
    sign: (kind, value) => sign(null, signedBytes(kind, value), key).toString('base64url'),
  };
  // The two halves may be of different keys.
  if (!isSignedBy(publicKey, 'seal', {}, own.sign('seal', {}))) throw new CloisterError('options_invalid', problem);
  return own;
};

/** Whether the owner of this key has signed exactly this. */
export const isSignedBy = (publicKey: string, kind: SignedKind, value: JsonObject, signature: string): boolean => {
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' });
    return verify(null, signedBytes(kind, value), key, Buffer.from(signature, 'base64url'));
  } catch {
    return false;
  }
};

const signedBytes = (kind: SignedKind, value: JsonObject): Buffer =>
  Buffer.from(`cloister ${kind}\n${canonicalJson(value as Json)}`);
