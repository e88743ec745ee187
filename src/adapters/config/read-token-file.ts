// Checks a token file. The checks are loaded only when there is one.
import type { CheckedTokens } from './check-tokens.ts';

export type { TokenFileEntry } from './check-tokens.ts';

export const checkTokenFile = async (file: string, text: string): Promise<CheckedTokens> => {
  const { parseTokenFile } = await import('./check-tokens.ts');
  return parseTokenFile(file, text);
};
