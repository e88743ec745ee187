export { runCli } from './run-cli.ts';
export { terminalLines } from './shared/terminal-lines.ts';
export type {
  CliFiles,
  CliRuntime,
  CliServer,
  CliStream,
  CliTasks,
  CliWorld,
  DemoTeam,
  EditorResult,
  RunningServer,
  RunningWorker,
  ServeLine,
  ServeOptions,
  StudioOptions,
  WorkerLine,
  WorkerOptions,
} from './shared/cli-world.ts';
