// The grammar of `serve` and `token`.
import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import { collect, command, common, configOf, someNumber, outputFlags, wholeNumber, withWorkspace } from './grammar.ts';
import type { Flags, Take } from './grammar.ts';
import type { ServeRequest } from './request.ts';
import { UsageError } from './usage-error.ts';

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
  readonly running?: number;
  readonly runningPerAgent?: number;
  readonly waiting?: number;
  readonly grace?: number;
  readonly memory?: boolean;
};

const defaultPort = 8787;

export const addServeCommands = (program: Command, take: Take): void => {
  const serve = command(
    program,
    'serve',
    'serve agents over REST, OpenAI’s and Anthropic’s protocols, and MCP',
    [
      'cloister serve --agent lead.ai --agent researcher.ai',
      'cloister serve --agent lead.ai --token-file tokens.json --http 9000',
      'cloister serve --agent lead.ai --stdio-mcp',
    ],
    'print one JSON value a line: what is served, then each request and each run',
  )
    .usage('[options] --agent <path|name> …')
    .argument('[agents...]', 'the same as --agent')
    .option('--agent <path|name>', 'an .ai file, a folder, a team’s file, a module, or a name; repeatable', collect)
    .option('--http [port]', `where to listen; ${defaultPort} unless told, and not at all with --stdio-mcp alone`, port)
    .addOption(new Option('--stdio-mcp', 'speak MCP on standard input and output').conflicts('json'))
    .option('--token-file <file>', 'who may ask, and what; without it, one token is made and shown once')
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--expose', 'allow an address that other machines can reach')
    .option('--allow-host <name>', 'another name that the server is called by; repeatable', collect)
    .option('--allow-origin <origin>', 'web pages from there may use it; repeatable', origins)
    .option('--allow-system', 'take a client’s system prompt, as something to know')
    .option('--allow-tools', 'offer a client’s tools to the agent besides its own; the client brings the results')
    .option('--show-activity', 'show what sub-agents and tools do as reasoning')
    .option('--running <n>', 'runs at once (16); a resident that waits for mail is none of them', someNumber)
    .option('--running-per-agent <n>', 'runs of one agent at once (16)', someNumber)
    .option('--waiting <n>', 'requests in line (64)', wholeNumber)
    .option(
      '--grace <seconds>',
      'how long runs may finish when it is stopped (30); Ctrl-C again stops at once',
      wholeNumber,
    )
    .option('--memory', 'keep nothing on disk')
    .option('--config <file>', 'a config before all others');
  withWorkspace(serve).action((paths: readonly string[], flags: ServeFlags) =>
    take(serveRequest({ ...flags, agent: [...(flags.agent ?? []), ...paths] })),
  );
  command(program, 'token', 'make a token, and the entry for it in a token file', [
    'cloister token ci',
    'cloister token ci --json',
  ])
    .argument('<name>', 'who will hold it')
    .action((name: string, flags: Flags) => take({ command: 'token', name, ...outputFlags(flags) }));
};

const serveRequest = (flags: ServeFlags): ServeRequest => {
  const { agent: agents = [], ...rest } = flags;
  const { http, stdioMcp = false, host = '127.0.0.1', grace = 30 } = rest;
  if (agents.length === 0) throw new UsageError('there is no agent to serve', 'cloister serve --agent lead.ai');
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
    places: {
      ...(flags.running === undefined ? {} : { running: flags.running }),
      ...(flags.runningPerAgent === undefined ? {} : { runningPerAgent: flags.runningPerAgent }),
      ...(flags.waiting === undefined ? {} : { waiting: flags.waiting }),
    },
    graceMs: grace * 1000,
    memory: flags.memory ?? false,
    ...common(rest),
    ...configOf(rest),
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
