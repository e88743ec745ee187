export { parseEnv } from './parse-env.ts';
export type { EnvProblem, ParsedEnv } from './parse-env.ts';
export { ConfigFiles, readConfigLayers } from './read-config-layers.ts';
export type { ConfigPlaces, ReadConfig } from './read-config-layers.ts';
export { checkTokenFile } from './check-tokens.ts';
