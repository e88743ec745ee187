export { parseYaml } from './parse-yaml.ts';
