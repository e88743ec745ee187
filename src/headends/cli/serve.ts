// `serve`: serves agents to clients until it is stopped.
import { InvalidArgumentError } from 'commander';
import type { IndeterminatePolicy } from '#contracts';
import type { ServeOptions } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { OptionSpec } from './shared/define-command.ts';
import { UsageError } from './shared/errors.ts';
import {
  configOption,
  flagOption,
  listOption,
  positiveInteger,
  textOption,
  valueOption,
  portNumber,
  wholeNumber,
  workspaceOption,
} from './shared/options.ts';
import type { Printer } from './shared/output.ts';
import { runServer } from './shared/run-server.ts';
import { bannerLines } from './serve-lines.ts';

const defaultPort = 8787;

const indeterminatePolicy = (text: string): IndeterminatePolicy => {
  if (text === 'continue' || text === 'ask' || text === 'fail') return text;
  throw new InvalidArgumentError('It must be `continue`, `ask` or `fail`.');
};

/** The port; true: the option alone. */
const portOption: OptionSpec<number | true | null> = {
  about: `port to listen on (default: ${defaultPort}; none with --stdio-mcp alone)`,
  takes: '[port]',
  absent: null,
  parse: portNumber,
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
    'cloister serve --agent lead.ai --slack',
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
    slack: flagOption('answer in Slack, with the app in `slack` of .ai-agent.json; needs @slack/bolt'),
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
    idempotencyHours: valueOption(
      '<n>',
      'hours for which an Idempotency-Key holds after the end of its run (default: 24)',
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
    indeterminate: valueOption(
      '<policy>',
      'calls that a crash interrupted: `continue` without them, `ask` a person, or `fail` (default: the config)',
      indeterminatePolicy,
    ),
    engine: {
      ...textOption('<url>', 'hand runs to workers: `none` (they look in the store), restate://… or pg-boss:…'),
      conflicts: ['inMemory'],
    },
    inMemory: { ...flagOption('store nothing on disk'), formerly: 'memory' },
    ...configOption,
    ...workspaceOption,
  },
  run: async (given, context) => {
    const {
      http,
      stdioMcp: stdio,
      slack,
      tokenFile,
      host,
      expose,
      config,
      workspace,
      json,
      grace,
      inMemory: memory,
    } = given;
    const agents = [...given.agent, ...given.agents];
    if (agents.length === 0) throw new UsageError('no agent to serve', 'cloister serve --agent lead.ai');
    const options: ServeOptions = {
      agents,
      port: http === null && stdio && !slack ? null : typeof http === 'number' ? http : defaultPort,
      stdio,
      slack,
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
      ...(given.engine === null ? {} : { engine: given.engine }),
      ...(given.indeterminate === null ? {} : { indeterminate: given.indeterminate }),
      ...(given.idempotencyHours === null ? {} : { idempotencyHours: given.idempotencyHours }),
      ...(given.clientToolTimeout === null ? {} : { clientToolMs: given.clientToolTimeout * 1000 }),
    };
    return runServer(
      {
        json,
        memory,
        workspace,
        graceMs: (grace ?? 30) * 1000,
        start: (log) => context.server.serve(options, log),
        started: (service) => {
          const { url, token } = service;
          const names = service.agents.map(({ name }) => name);
          // With --stdio-mcp, stdout belongs to the protocol.
          const printer: Printer = stdio ? context.output.err : context.output.out;
          if (json)
            context.output.jsonLine({
              type: 'serving',
              url,
              token,
              agents: names,
              ...(slack ? { slack: service.slack } : {}),
            });
          else printer.print(...bannerLines(service, printer.paint));
        },
      },
      context,
    );
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
