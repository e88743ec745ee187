// The grammar of `serve` and `token`.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import {
  collect,
  command,
  common,
  configFlag,
  formerOption,
  positiveInteger,
  outputFlags,
  wholeNumber,
  withWorkspace,
} from './shared/grammar.ts';
import type { Flags, TakeRequest } from './shared/grammar.ts';
import type { ServeRequest } from './shared/request.ts';
import { UsageError } from './shared/errors.ts';

export type ServeFlags = Omit<Flags, 'agent'> & {
  readonly agent?: readonly string[];
  readonly http?: number | true;
  readonly stdioMcp?: boolean;
  readonly tokenFile?: string;
  readonly host?: string;
  readonly expose?: boolean;
  readonly allowHost?: readonly string[];
  readonly allowOrigin?: readonly string[];
  readonly allowSystem?: boolean;
  readonly allowTools?: boolean;
  readonly showActivity?: boolean;
  readonly maxRuns?: number;
  readonly maxRunsPerAgent?: number;
  readonly maxQueue?: number;
  readonly grace?: number;
  readonly inMemory?: boolean;
} & FormerServeFlags;

type FormerServeFlags = {
  readonly running?: number;
  readonly runningPerAgent?: number;
  readonly waiting?: number;
  readonly memory?: boolean;
};

const defaultPort = 8787;

export const addServeCommands = (program: Command, take: TakeRequest): void => {
  const serve = command(
    program,
    'serve',
    'serve agents over REST, the OpenAI and Anthropic APIs, and MCP',
    [
      'cloister serve --agent lead.ai --agent researcher.ai',
      'cloister serve --agent lead.ai --token-file tokens.json --http 9000',
      'cloister serve --agent lead.ai --stdio-mcp',
    ],
    'print one JSON value per line: the server, then each request and run',
  )
    .usage('[options] --agent <path|name> …')
    .argument('[agents...]', 'same as --agent')
    .option('--agent <path|name>', 'an .ai file, a folder, a team file, a module or a name; repeatable', collect)
    .option('--http [port]', `port to listen on (default: ${defaultPort}; none with --stdio-mcp alone)`, port)
    .addOption(
      new Option('--stdio-mcp', 'serve MCP over stdin and stdout; agents are tools, named by toolName').conflicts(
        'json',
      ),
    )
    .option('--token-file <file>', 'clients and their permissions; without it, one token is generated and shown once')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--expose', 'allow --host to be reachable from other machines')
    .option('--allow-host <name>', 'additional host name to accept; repeatable', collect)
    .option('--allow-origin <origin>', 'web origin to accept (CORS); repeatable', origins)
    .option('--allow-system', 'accept a client’s system prompt, as context')
    .option('--allow-tools', 'accept client tools; the client executes them')
    .option('--show-activity', 'stream sub-agent and tool activity as reasoning')
    .option(
      '--max-runs <n>',
      'maximum concurrent runs (default: 16); idle long-lived agents do not count',
      positiveInteger,
    )
    .option('--max-runs-per-agent <n>', 'maximum concurrent runs per agent (default: 16)', positiveInteger)
    .option('--max-queue <n>', 'maximum queued requests (default: 64)', wholeNumber)
    .option(
      '--grace <seconds>',
      'seconds to let runs finish on shutdown (default: 30); Ctrl-C again stops immediately',
      wholeNumber,
    )
    .option('--in-memory', 'store nothing on disk')
    .option('--config <file>', 'config file that takes precedence over all others')
    .addOption(formerOption('--running <n>').argParser(positiveInteger))
    .addOption(formerOption('--running-per-agent <n>').argParser(positiveInteger))
    .addOption(formerOption('--waiting <n>').argParser(wholeNumber))
    .addOption(formerOption('--memory'));
  withWorkspace(serve).action((paths: readonly string[], flags: ServeFlags) =>
    take(serveRequest({ ...flags, agent: [...(flags.agent ?? []), ...paths] })),
  );
  command(program, 'token', 'create a token and its token-file entry', [
    'cloister token ci',
    'cloister token ci --json',
  ])
    .argument('<name>', 'name of the client')
    .action((name: string, flags: Flags) => take({ command: 'token', name, ...outputFlags(flags) }));
};

const serveRequest = (flags: ServeFlags): ServeRequest => {
  const { agent: agents = [], ...rest } = flags;
  const { http, stdioMcp = false, host = '127.0.0.1', grace = 30 } = rest;
  if (agents.length === 0) throw new UsageError('no agent to serve', 'cloister serve --agent lead.ai');
  const listens = http !== undefined || !stdioMcp;
  return {
    command: 'serve',
    agents,
    port: listens ? (typeof http === 'number' ? http : defaultPort) : null,
    stdio: stdioMcp,
    tokenFile: flags.tokenFile ?? null,
    host,
    expose: flags.expose ?? false,
    hosts: flags.allowHost ?? [],
    origins: flags.allowOrigin ?? [],
    clients: {
      system: flags.allowSystem ?? false,
      tools: flags.allowTools ?? false,
      activity: flags.showActivity ?? false,
    },
    slots: slotLimits(flags),
    graceMs: grace * 1000,
    memory: flags.inMemory ?? flags.memory ?? false,
    ...common(rest),
    ...configFlag(rest),
  };
};

const slotLimits = (flags: ServeFlags): ServeRequest['slots'] => {
  const running = flags.maxRuns ?? flags.running;
  const runningPerAgent = flags.maxRunsPerAgent ?? flags.runningPerAgent;
  const waiting = flags.maxQueue ?? flags.waiting;
  return {
    ...(running === undefined ? {} : { running }),
    ...(runningPerAgent === undefined ? {} : { runningPerAgent }),
    ...(waiting === undefined ? {} : { waiting }),
  };
};

const origins = (text: string, before: readonly string[] = []): readonly string[] => {
  if (!URL.canParse(text) || new URL(text).origin !== text.toLowerCase())
    throw new InvalidArgumentError('It must be an origin such as https://chat.example.com.');
  return collect(text, before);
};

const port = (text: string): number => {
  const value = wholeNumber(text);
  if (value > 65_535) throw new InvalidArgumentError('It must be a port: 0 to 65535.');
  return value;
};
