// The operator's key among the variables: it signs for the operator, so no text may show it.
import type { ConfigLayer } from '#contracts';
import { buildOverlay } from './overlay.ts';

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
