// The folder of this package, whether it runs from source or as published.
import { readFileSync } from 'node:fs';

export const packageFolder = new URL(import.meta.url.endsWith('.ts') ? '../../' : '../', import.meta.url);

/** The name of this build, as it is recorded in workspaces and runs. */
export const buildName = (): string => (name ??= `cloister ${packageVersion()}`);

let name: string | undefined;

/** `unknown` when bundled into a program without its package.json. */
export const packageVersion = (): string => {
  try {
    const { version } = JSON.parse(readFileSync(new URL('package.json', packageFolder), 'utf8')) as { version: string };
    return version;
  } catch {
    return 'unknown';
  }
};
