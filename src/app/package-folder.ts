// The package itself: its folder, whether it runs from its sources or as it is published.
import { readFileSync } from 'node:fs';

export const packageFolder = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../', import.meta.url);

/** `unknown` where a program has been made of it that carries no package along. */
export const packageVersion = (): string => {
  try {
    const { version } = JSON.parse(readFileSync(new URL('package.json', packageFolder), 'utf8')) as { version: string };
    return version;
  } catch {
    return 'unknown';
  }
};
