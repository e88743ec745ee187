export { runCli } from './run-cli.ts';
export { terminalLines } from './shared/terminal-lines.ts';
export type { CliStream, CliWorld, Lines } from './shared/cli-world.ts';
export type { ServeLine, ServeOptions, RunningServer } from './shared/cli-world.ts';
