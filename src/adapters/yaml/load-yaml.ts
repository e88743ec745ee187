// Loads the package `yaml` on first use: loading takes 40 ms, and agents in code, or commands that inspect a run, do not need it.
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';

let loaded: typeof Yaml | undefined;

export const loadYaml = (): typeof Yaml => (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml);
