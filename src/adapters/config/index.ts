export { parseEnv } from './parse-env.ts';
export { ConfigFiles, readConfigLayers } from './read-config-layers.ts';
export type { ConfigPlaces } from './read-config-layers.ts';
export { checkTokenFile } from './check-tokens.ts';
