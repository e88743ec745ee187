// `serve`: serves agents to clients until it is stopped.
//
//   serve-names-continuable-runs. However it is stopped, it prints the runs that can be continued, or the command that lists
//       them.
//   serve-stop-bounded. An immediate stop waits for nothing longer than `immediateStopMs`.
import { InvalidArgumentError } from 'commander';
import { plural } from '#headends/run-view';
import type { CliSystem, RunningServer, ServeLine, ServeOptions } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext, OptionSpec } from './shared/define-command.ts';
import { exitCode, UsageError } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { describeStrayError } from './shared/follow-run.ts';
import { cloisterCommand } from './shared/next-commands.ts';
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
import type { Printer } from './shared/output.ts';
import { sanitizeLine } from './shared/sanitize-text.ts';
import { bannerLines, serveLine, stoppingLine } from './serve-lines.ts';

const defaultPort = 8787;

/** The port; true: the option alone. */
const portOption: OptionSpec<number | true | null> = {
  about: `port to listen on (default: ${defaultPort}; none with --stdio-mcp alone)`,
  takes: '[port]',
  absent: null,
  parse: (text) => {
    const value = wholeNumber(text);
    if (value > 65_535) throw new InvalidArgumentError('It must be a port: 0 to 65535.');
    return value;
  },
};

const originOption: OptionSpec<readonly string[]> = {
  ...listOption('<origin>', 'web origin to accept (CORS); repeatable'),
  parse: (text, before = []) => {
    if (!URL.canParse(text) || new URL(text).origin !== text.toLowerCase())
      throw new InvalidArgumentError('It must be an origin such as https://chat.example.com.');
    return [...before, text];
  },
};

export default defineCommand({
  about: 'serve agents over REST, the OpenAI and Anthropic APIs, and MCP',
  examples: [
    'cloister serve --agent lead.ai --agent researcher.ai',
    'cloister serve --agent lead.ai --token-file tokens.json --http 9000',
    'cloister serve --agent lead.ai --stdio-mcp',
  ],
  usage: '[options] --agent <path|name> …',
  jsonLines: 'print one JSON value per line: the server, then each request and run',
  protocolOption: '--stdio-mcp',
  arguments: { agents: { about: 'same as --agent', form: 'list', absent: [] as readonly string[] } },
  options: {
    agent: listOption('<path|name>', 'an .ai file, a folder, a team file, a module or a name; repeatable'),
    http: portOption,
    stdioMcp: {
      ...flagOption('serve MCP over stdin and stdout; agents are tools, named by toolName'),
      conflicts: ['json'],
    },
    tokenFile: textOption('<file>', 'clients and their permissions; without it, one token is generated and shown once'),
    host: { about: 'address to listen on', takes: '<address>', absent: '', initial: '127.0.0.1' },
    expose: flagOption('allow --host to be reachable from other machines'),
    allowHost: listOption('<name>', 'additional host name to accept; repeatable'),
    allowOrigin: originOption,
    allowSystem: flagOption('accept a client’s system prompt, after the agent’s own'),
    allowTools: flagOption('accept client tools; the client executes them'),
    clientToolTimeout: valueOption(
      '<seconds>',
      'seconds for a client to send a tool result (default: a day)',
      positiveInteger,
    ),
    showActivity: flagOption('stream sub-agent and tool activity as reasoning'),
    compat: flagOption('ignore optional fields and hosted tools of clients that are not supported'),
    maxRuns: {
      ...valueOption(
        '<n>',
        'maximum concurrent runs (default: 16); idle long-lived agents do not count',
        positiveInteger,
      ),
      formerly: 'running',
    },
    maxRunsPerAgent: {
      ...valueOption('<n>', 'maximum concurrent runs per agent (default: 16)', positiveInteger),
      formerly: 'runningPerAgent',
    },
    maxRunsPerCaller: valueOption(
      '<n>',
      'maximum concurrent runs per token (default: all; half of them with several tokens)',
      positiveInteger,
    ),
    maxQueue: { ...valueOption('<n>', 'maximum queued requests (default: 64)', wholeNumber), formerly: 'waiting' },
    grace: valueOption(
      '<seconds>',
      'seconds to let runs finish on shutdown (default: 30); Ctrl-C again stops immediately',
      wholeNumber,
    ),
    inMemory: { ...flagOption('store nothing on disk'), formerly: 'memory' },
    ...configOption,
    ...workspaceOption,
  },
  run: async (given, context) => {
    const { http, stdioMcp: stdio, tokenFile, host, expose, config, workspace, json, grace, inMemory: memory } = given;
    const agents = [...given.agent, ...given.agents];
    if (agents.length === 0) throw new UsageError('no agent to serve', 'cloister serve --agent lead.ai');
    const options: ServeOptions = {
      agents,
      port: http === null && stdio ? null : typeof http === 'number' ? http : defaultPort,
      stdio,
      tokenFile,
      host,
      expose,
      memory,
      config,
      workspace,
      hosts: given.allowHost,
      origins: given.allowOrigin,
      clients: {
        system: given.allowSystem,
        tools: given.allowTools,
        activity: given.showActivity,
        compat: given.compat,
      },
      slots: slotLimits(given),
      ...(given.clientToolTimeout === null ? {} : { clientToolMs: given.clientToolTimeout * 1000 }),
    };
    return serve(options, { json, memory, workspace, graceMs: (grace ?? 30) * 1000 }, context);
  },
});

type GivenLimits = { readonly [Key in 'maxRuns' | 'maxRunsPerAgent' | 'maxRunsPerCaller' | 'maxQueue']: number | null };

/** Only those that were given. */
const slotLimits = ({ maxRuns, maxRunsPerAgent, maxRunsPerCaller, maxQueue }: GivenLimits): ServeOptions['slots'] => ({
  ...(maxRuns === null ? {} : { running: maxRuns }),
  ...(maxRunsPerAgent === null ? {} : { runningPerAgent: maxRunsPerAgent }),
  ...(maxRunsPerCaller === null ? {} : { runningPerCaller: maxRunsPerCaller }),
  ...(maxQueue === null ? {} : { waiting: maxQueue }),
});

type ServeRequest = {
  readonly json: boolean;
  /** Nothing is stored, so nothing can be continued. */
  readonly memory: boolean;
  readonly workspace: string;
  readonly graceMs: number;
};

const serve = async (options: ServeOptions, request: ServeRequest, context: CommandContext): Promise<ExitCode> => {
  const { server, system, output, interrupts } = context;
  const { json } = request;
  const asked = Promise.withResolvers<void>();
  interrupts.onFirst(asked.resolve);
  const log = (line: ServeLine): void => {
    if (json) output.jsonLine(line);
    else output.err.print(serveLine(line, system.now(), output.err.paint));
  };
  const stopListening = system.onStrayError((error) => output.err.print(sanitizeLine(describeStrayError(error))));
  try {
    const service = await server.serve(options, log);
    const { url, token, agents, notes, inputEnded } = service;
    // With --stdio-mcp, stdout belongs to the protocol.
    const printer: Printer = options.stdio ? output.err : output.out;
    if (json) output.jsonLine({ type: 'serving', url, token, agents: agents.map(({ name }) => name) });
    else printer.print(...bannerLines(service, printer.paint));
    output.err.print(...notes.map((note) => `${output.err.paint('yellow', 'note:')} ${sanitizeLine(note)}`));
    await Promise.race([asked.promise, ...(inputEnded === null ? [] : [inputEnded])]);
    return await stopServing(service, request, context);
  } finally {
    stopListening();
  }
};

const immediateStopMs = 1_000;

const stopServing = async (
  service: RunningServer,
  request: ServeRequest,
  context: CommandContext,
): Promise<ExitCode> => {
  const { system, output, interrupts } = context;
  const { graceMs, memory, workspace } = request;
  const immediate = Promise.withResolvers<'immediate'>();
  let isImmediate = false;
  // The next Ctrl-C does not end the command yet: it still prints the interrupted runs.
  interrupts.reset();
  interrupts.onFirst(() => {
    isImmediate = true;
    immediate.resolve('immediate');
  });
  output.err.print(stoppingLine(service.running(), graceMs));
  const stopCleanly = async (): Promise<void> => {
    const left = await service.stop(graceMs);
    if (isImmediate) return;
    if (left.length === 0 || memory) await service.close();
    else output.err.print(...unfinishedLines(left, workspace));
  };
  if ((await Promise.race([stopCleanly(), immediate.promise])) !== 'immediate') return exitCode.completed;

  if (!memory) output.err.print(...unfinishedLines(await stopNow(service, system), workspace));
  // A user who pressed Ctrl-C twice needs no message saying so.
  return exitCode.cancelled;
};

/** Null: finding out took too long. */
const stopNow = async (service: RunningServer, system: CliSystem): Promise<readonly string[] | null> => {
  const late = Promise.withResolvers<null>();
  const stop = system.timer(immediateStopMs, () => late.resolve(null));
  try {
    return await Promise.race([service.stop(0).catch(() => null), late.promise]);
  } finally {
    stop();
  }
};

const unfinishedLines = (left: readonly string[] | null, workspace: string): readonly string[] => {
  if (left === null)
    return ['Unfinished runs can be continued; list them with:', `  ${cloisterCommand('runs', workspace)}`];
  if (left.length === 0) return [];
  return [
    left.length === 1
      ? '1 run is unfinished. Continue it with:'
      : `${plural(left.length, 'run')} are unfinished. Continue them with:`,
    ...left.map((run) => `  ${cloisterCommand(`resume ${run}`, workspace)}`),
  ];
};
