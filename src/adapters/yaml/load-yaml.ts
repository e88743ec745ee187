// The package `yaml` when the first text is read: to load it takes 40 ms, and agents in code, or a command that looks at a run,
// need none.
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';

let loaded: typeof Yaml | undefined;

export const loadYaml = (): typeof Yaml => (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml);
