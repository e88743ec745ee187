export { ConfigFiles, readConfigLayers } from './read-config-layers.ts';
export { importConfig } from './import-config.ts';
export { checkTokenFile } from './check-tokens.ts';
