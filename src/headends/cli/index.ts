export { runCli } from './run-cli.ts';
export { terminalLines } from './terminal-lines.ts';
export type { CliStream, CliWorld, Lines } from './cli-world.ts';
export type { ServeLine, ServeOptions, RunningServer } from './serve-world.ts';
