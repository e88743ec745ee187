// The operator's key and the password of the store among the variables: no text may show them.
import type { ConfigLayer } from '#contracts';
import { buildOverlay } from './overlay.ts';
import { strongParts } from './secret-strength.ts';

/** The variable that holds the private key. */
export const operatorKeyVariable = 'CLOISTER_KEY';

/** The variable's text, from the same places as the values of providers and servers. */
export const operatorKeyText = (layers: readonly ConfigLayer[]): string | undefined =>
  buildOverlay([operatorKeyVariable], layers).overlay[operatorKeyVariable];

/** What is searched for. The first half alone signs as well: the second one is the public key. */
export const operatorSecrets = (keyText: string | undefined): readonly string[] =>
  keyText === undefined || keyText.length < halfChars ? [] : [keyText, keyText.slice(0, halfChars)];

/** 32 bytes in base64url. */
const halfChars = 43;

const addressVariable = 'CLOISTER_STORE';

export const storePasswordVariable = 'CLOISTER_STORE_PASSWORD';

/** The address of the store, from the same places. */
export const storeAddress = (layers: readonly ConfigLayer[]): string | undefined =>
  buildOverlay([addressVariable], layers).overlay[addressVariable];

export const storePassword = (layers: readonly ConfigLayer[]): string | undefined =>
  buildOverlay([storePasswordVariable], layers).overlay[storePasswordVariable];

/** `addresses`: that of the store, however it was given. A password that can be guessed is not searched for. */
export const storeSecrets = (
  addresses: readonly (string | undefined)[],
  password: string | undefined,
): readonly string[] =>
  [password, ...addresses.map((address) => (address === undefined ? undefined : passwordIn(address)))].flatMap((one) =>
    one === undefined ? [] : strongParts(one),
  );

const passwordIn = (address: string): string | undefined => {
  try {
    return decodeURIComponent(new URL(address).password);
  } catch {
    return undefined;
  }
};
