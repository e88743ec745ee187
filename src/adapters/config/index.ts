export { ConfigFiles, readConfigLayers } from './read-config-layers.ts';
export { checkTokenFile } from './check-tokens.ts';
