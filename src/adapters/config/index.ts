export { ConfigFiles, readConfigLayers } from './read-config-layers.ts';
export type { ConfigNote } from './check-config.ts';
export { importConfig } from './import-config.ts';
export { checkTokenFile } from './check-tokens.ts';
