export { runCli } from './run-cli.ts';
export { terminalLines } from './shared/terminal-lines.ts';
export type {
  CliFiles,
  CliRuntime,
  CliServer,
  CliStream,
  CliTasks,
  CliWorld,
  EditorResult,
  RunningServer,
  ServeLine,
  ServeOptions,
  StudioOptions,
} from './shared/cli-world.ts';
