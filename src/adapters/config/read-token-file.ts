// A token file. What checks it is loaded only when there is one.
import type { Problem } from '#contracts';
import type { TokenFileEntry } from './check-tokens.ts';

export type { TokenFileEntry } from './check-tokens.ts';

export const checkTokenFile = async (
  file: string,
  text: string,
): Promise<{ readonly entries: readonly TokenFileEntry[]; readonly problems: readonly Problem[] }> => {
  const { checkTokens } = await import('./check-tokens.ts');
  return checkTokens(file, text);
};
