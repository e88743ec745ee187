// The grammar of the command line: commands, arguments and options, with their help.
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import type { CliWorld } from './shared/cli-world.ts';
import {
  agentOrDefault,
  agentsFlag,
  budgetFlag,
  collect,
  command,
  common,
  configFlag,
  parseConversationName,
  formerCommand,
  isPath,
  outputFlags,
  withAgents,
  withBudget,
  withEvents,
  withWorkspace,
} from './shared/grammar.ts';
import type { Flags, TakeRequest } from './shared/grammar.ts';
import { addLogCommands } from './log-grammar.ts';
import { addServeCommands } from './serve-grammar.ts';
import { addConversationCommands } from './conversation-grammar.ts';
import { addTeamCommand } from './team-grammar.ts';
import type { CliRequest } from './shared/request.ts';

/** Collects what commander would write to the streams. */
export type ParseCapture = { request: CliRequest | undefined; out: string; err: string };

export const buildProgram = (captured: ParseCapture, world: CliWorld): Command => {
  const program = new Command('cloister')
    .description('Run teams of isolated LLM agents, and audit everything that passes between them.')
    .usage('[options] <command>\n       cloister <agent.ai> [input]\n       cloister <team.yaml> [goal]')
    .version(world.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText(
      'after',
      `
Examples:
  $ cloister demo
  $ cloister init team && cd team
  $ cloister lead.ai "Compare SQLite and DuckDB"
  $ cloister lead.ai --help
  $ cloister team team.yaml "Write a page about bees"
  $ cloister chat lead.ai
  $ cloister serve --agent lead.ai
  $ cloister audit last

\`last\` stands for the newest run. A cell is one agent at work in a run; a
crossing is anything that passes into or out of a cell.`,
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (captured.out += text),
      writeErr: (text) => void (captured.err += text),
      getOutHelpWidth: () => world.stdout.columns ?? 80,
      getErrHelpWidth: () => world.stderr.columns ?? 80,
      outputError: () => {},
    });
  const take: TakeRequest = (request) => {
    captured.request = request;
  };
  addRunCommand(program, take);
  addTeamCommand(program, take);
  addConversationCommands(program, take);
  addDemoCommand(program, world, take);
  addFileCommands(program, take);
  addReadCommands(program, take);
  addLogCommands(program, take);
  addServeCommands(program, take);
  return program;
};

const addRunCommand = (program: Command, take: TakeRequest): void => {
  const run = command(program, 'run', 'run an agent: progress on stderr, the answer on stdout', [
    'cloister run lead.ai "Compare SQLite and DuckDB" --budget-usd 0.50',
    'cloister run lead --agents ./agents < question.txt',
    'cloister run lead.ai --conversation trip --context notes.md "And by train?"',
  ])
    .usage('[options] [agent] [input]')
    .argument('[agent]', 'an .ai file or an agent name (default: `defaultAgent` in the config)')
    .argument('[input]', 'the task; - or omitted: read it from stdin')
    .helpOption(false)
    .option('--schema <file|json>', 'answer in JSON that matches this JSON Schema', schemaText)
    .option(
      '--conversation <name>',
      'continue this conversation; <agent>/<name> for another agent’s',
      parseConversationName,
    )
    .option('--context <file>', 'file with extra context for the agent; repeatable', collect);
  runOptions(withWorkspace(withAgents(run)))
    .option('-h, --help', 'print this help; after an .ai file, that agent’s help')
    .action((agent: string | undefined, input: string | undefined, flags: Flags) => {
      if (flags.help === true && (agent === undefined || !isPath(agent))) run.help();
      if (agent !== undefined && flags.help === true)
        take({ command: 'agent-help', path: agent, ...outputFlags(flags), ...configFlag(flags) });
      else if (input === undefined && agent !== undefined && isInput(agent)) take(runRequest(undefined, agent, flags));
      else take(runRequest(agent, input, flags));
    });
};

/** A text that cannot be an agent name is input for the default agent. */
const isInput = (given: string): boolean => given === '-' || (/\s/u.test(given) && !given.endsWith('.ai'));

const runRequest = (given: string | undefined, input: string | undefined, flags: Flags): CliRequest => {
  const { agents, ...rest } = runFlags(flags);
  return {
    command: 'run',
    ...agentOrDefault(given, agents),
    input: input === undefined || input === '-' ? null : input,
    ...rest,
  };
};

const addDemoCommand = (program: Command, world: CliWorld, take: TakeRequest): void => {
  const demo = command(
    program,
    'demo',
    'run the built-in research team offline, with a scripted model, and audit the run',
    ['cloister demo', `cloister demo "${world.demo.question}" --json`],
  ).argument('[question]', 'the question for the team', world.demo.question);
  runOptions(withWorkspace(demo)).action((input: string, flags: Flags) =>
    take({ command: 'demo', agent: world.demo.agent, input, ...runFlags(flags) }),
  );
};

const addFileCommands = (program: Command, take: TakeRequest): void => {
  command(program, 'init', 'create a folder with two agents you can run straight away, offline', ['cloister init team'])
    .argument('[folder]', 'target folder', '.')
    .action((folder: string, flags: Flags) => take({ command: 'init', folder, ...outputFlags(flags) }));
  command(program, 'check', 'validate agent files; show their worst-case cost and what they can reach', [
    'cloister check',
    'cloister check lead.ai agents/ --json',
  ])
    .addArgument(new Argument('[paths...]', 'files and folders').default(['.'], 'the current folder'))
    .option('--syntax-only', 'check each file on its own; do not resolve sub-agents or config')
    .option('--connect', 'also connect to the tool servers the agents use')
    .option('--config <file>', 'config file that takes precedence over all others')
    .action((paths: readonly string[], flags: Flags) => {
      const { syntaxOnly = false, connect = false } = flags;
      take({ command: 'check', paths, syntaxOnly, connect, ...outputFlags(flags), ...configFlag(flags) });
    });
  command(program, 'agents', 'list the agents in files and folders', ['cloister agents', 'cloister agents team/'])
    .addArgument(new Argument('[paths...]', 'files and folders').default(['.'], 'the current folder'))
    .option('--config <file>', 'config file that takes precedence over all others')
    .action((paths: readonly string[], flags: Flags) =>
      take({ command: 'agents', paths, ...outputFlags(flags), ...configFlag(flags) }),
    );
};

const addReadCommands = (program: Command, take: TakeRequest): void => {
  const reading = (name: string, description: string, examples: readonly string[]): Command =>
    withWorkspace(command(program, name, description, examples));
  reading('runs', 'list the runs in the workspace, newest first', ['cloister runs']).action((flags: Flags) =>
    take({ command: 'runs', ...common(flags) }),
  );
  reading('show', 'show a run: its cells, usage and answer', [
    'cloister show last',
    'cloister show 4f2a --verbose',
    'cloister show last --window',
    'cloister show last --mail',
  ])
    .argument('<run>', 'a run id, a prefix of one, or `last`')
    .option('--graph <file>', 'for a team: also write its task graph (.svg, .mmd or .md)')
    .option('--window', 'instead, show what fills each agent’s context window and what was dropped')
    .addOption(
      new Option('--mail', 'instead, show every message: sender, recipient, state and time').conflicts('window'),
    )
    .action((run: string, flags: Flags) => {
      const { window = false, mail = false, graph = null } = flags;
      take({ command: 'show', run, window, mail, graph, ...common(flags) });
    });
  const deadLetters = [
    'list undeliverable messages and the reason for each',
    ['cloister dead-letters', 'cloister dead-letters --run last --json'],
  ] as const;
  const formerName = withWorkspace(formerCommand(program, 'deadletters', ...deadLetters));
  for (const one of [reading('dead-letters', ...deadLetters), formerName])
    one
      .option('--run <run>', 'only this run (default: the newest 100 runs)')
      .action((flags: Flags) => take({ command: 'dead-letters', run: flags.run ?? null, ...common(flags) }));
  reading('explain', 'trace everything a cell’s model was shown back to its source', [
    'cloister explain last researcher --find "write-ahead log"',
    'cloister explain last write-up',
  ])
    .argument('<run>', 'a run id, a prefix of one, or `last`')
    .argument('<cell>', 'a cell id or prefix, an agent name, or a task id')
    .option('--find <text>', 'only segments that contain this text')
    .action((run: string, cell: string, flags: Flags) =>
      take({ command: 'explain', run, cell, find: flags.find ?? null, ...common(flags) }),
    );
  reading('migrate', 'bring a workspace of an earlier format to the newest one; its database is kept as a copy', [
    'cloister migrate --workspace ./.cloister',
  ]).action((flags: Flags) => take({ command: 'migrate', ...common(flags) }));
  reading('audit', 'verify every crossing of a run and rebuild every prompt', ['cloister audit last'])
    .argument('<run>', 'a run id, a prefix of one, or `last`')
    .action((run: string, flags: Flags) => take({ command: 'audit', run, ...common(flags) }));
};

const runOptions = (run: Command): Command => withBudget(withEvents(run));

const runFlags = (flags: Flags) => ({
  ...common(flags),
  ...configFlag(flags),
  ...agentsFlag(flags),
  ...budgetFlag(flags),
  schema: flags.schema ?? null,
  jsonl: flags.jsonl ?? false,
  conversation: flags.conversation ?? null,
  context: flags.context ?? [],
});

/** A text that starts with `{` must be JSON; anything else is a file name. */
const schemaText = (text: string): string => {
  if (!text.trimStart().startsWith('{')) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new InvalidArgumentError('Not valid JSON: pass one quoted object, or a file.');
  }
};
