// `worker`: drives runs that servers and other processes request, until it is stopped.
import { plural } from '#headends/run-view';
import type { WorkerLine, WorkerOptions } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { describeStrayError } from './shared/follow-run.ts';
import {
  configOption,
  flagOption,
  listOption,
  positiveInteger,
  textOption,
  valueOption,
  wholeNumber,
  workspaceOption,
} from './shared/options.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'drive runs that servers request, on this machine',
  examples: ['cloister worker --agent lead.ai', 'cloister worker --agent lead.ai --slots 64 --process-per-run'],
  notes: [
    'A worker continues the runs of its agents that nobody drives, and lets go of',
    'those in which everybody only waits. SIGTERM gives back what it drives: other',
    'workers continue it.',
  ],
  usage: '[options] --agent <path|name> …',
  jsonLines: 'print one JSON value per line: the worker, then each drive that ended',
  arguments: { agents: { about: 'same as --agent', form: 'list', absent: [] as readonly string[] } },
  options: {
    agent: listOption('<path|name>', 'an .ai file, a folder, a team file, a module or a name; repeatable'),
    engine: {
      about: 'what calls this worker; none: it looks in the store',
      takes: '<url>',
      absent: 'none',
      initial: 'none',
    },
    slots: valueOption('<n>', 'maximum concurrent runs (default: 16)', positiveInteger),
    processPerRun: flagOption('drive each run in a process of its own'),
    runMemory: valueOption('<mb>', 'with --process-per-run: memory of a run’s process, in megabytes', positiveInteger),
    restAfter: valueOption('<seconds>', 'let go of a run after everybody has waited so long (default: 5)', wholeNumber),
    grace: valueOption('<seconds>', 'on SIGTERM, seconds to let steps in flight finish (default: 5)', wholeNumber),
    run: { ...textOption('<run>', 'drive this run only, and end with it'), isHidden: true },
    runAgent: { ...textOption('<name>', 'the agent of that run'), isHidden: true },
    ...configOption,
    ...workspaceOption,
  },
  run: async (given, context) => {
    const agents = [...given.agent, ...given.agents];
    if (agents.length === 0) throw new UsageError('no agent to drive runs of', 'cloister worker --agent lead.ai');
    const { engine, workspace, config, processPerRun, restAfter, grace, run, runAgent } = given;
    const options: WorkerOptions = {
      agents,
      workspace,
      config,
      engine,
      slots: given.slots ?? 16,
      restAfterMs: (restAfter ?? 5) * 1000,
      graceMs: (grace ?? 5) * 1000,
      processPerRun: processPerRun ? { args: ownArguments(given, agents), memoryMb: given.runMemory } : null,
    };
    if (run !== null) return driveOne(options, { run, agent: runAgent ?? '' }, context);
    return work(options, given.json, context);
  },
});

type Given = {
  readonly workspace: string;
  readonly store: string | null;
  readonly config: string | null;
  readonly restAfter: number | null;
  readonly grace: number | null;
};

/** What the process of one run is given. */
const ownArguments = (
  { workspace, store, config, restAfter, grace }: Given,
  agents: readonly string[],
): readonly string[] => [
  'worker',
  ...agents.flatMap((agent) => ['--agent', agent]),
  '--workspace',
  workspace,
  ...(store === null ? [] : ['--store', store]),
  ...(config === null ? [] : ['--config', config]),
  ...(restAfter === null ? [] : ['--rest-after', `${restAfter}`]),
  ...(grace === null ? [] : ['--grace', `${grace}`]),
];

const driveOne = async (
  options: WorkerOptions,
  call: { readonly run: string; readonly agent: string },
  { server, output, interrupts }: CommandContext,
): Promise<ExitCode> => {
  const stop = new AbortController();
  interrupts.onFirst(() => stop.abort());
  output.jsonLine(await server.driveOne(options, call as Parameters<typeof server.driveOne>[1], stop.signal));
  return exitCode.completed;
};

const work = async (options: WorkerOptions, json: boolean, context: CommandContext): Promise<ExitCode> => {
  const { server, output, interrupts, system } = context;
  const asked = Promise.withResolvers<void>();
  interrupts.onFirst(asked.resolve);
  const log = (line: WorkerLine): void => {
    if (json) output.jsonLine(line);
    else output.err.print(sanitizeLine(lineText(line)));
  };
  const stopListening = system.onStrayError((error) => output.err.print(sanitizeLine(describeStrayError(error))));
  try {
    const worker = await server.worker(options, log);
    const { agents, engine } = worker;
    if (json) output.jsonLine({ type: 'working', agents, engine, slots: options.slots });
    else
      output.out.print(
        `Driving runs of ${plural(agents.length, 'agent')} (${agents.map(sanitizeLine).join(', ')}), ${plural(options.slots, 'slot')}, engine: ${engine}`,
      );
    await asked.promise;
    interrupts.reset();
    if (!json) output.err.print(`Giving back ${plural(worker.running(), 'run')} …`);
    await worker.stop();
    return exitCode.completed;
  } finally {
    stopListening();
  }
};

const lineText = (line: WorkerLine): string => {
  if (line.type === 'engine') return `engine: ${line.text}`;
  const head = `${line.agent} ${line.run} `;
  switch (line.end) {
    case 'ended':
      return `${head}ended`;
    case 'rests':
      return `${head}rests${line.until === null ? '' : ` until ${new Date(line.until).toISOString()}`}`;
    case 'lost':
      return `${head}given back, or driven elsewhere`;
    case 'refused':
      return `${head}refused: ${line.code} ${line.detail}`;
    default:
      return line satisfies never;
  }
};
