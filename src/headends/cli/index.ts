export { runCli } from './run-cli.ts';
export type { CliStream, CliWorld } from './cli-world.ts';
