// The grammar of the command line: commands, arguments and options, with their help.
import { Command, InvalidArgumentError, Option } from 'commander';
import type { CliWorld } from './cli-world.ts';
import {
  agentOrDefault,
  agentsOf,
  budgetOf,
  collect,
  command,
  common,
  configOf,
  conversationNamed,
  isPath,
  outputFlags,
  withAgents,
  withBudget,
  withEvents,
  withWorkspace,
} from './grammar.ts';
import type { Flags, Take } from './grammar.ts';
import { addLogCommands } from './log-grammar.ts';
import { addServeCommands } from './serve-grammar.ts';
import { addTalkCommands } from './conversation-grammar.ts';
import { addTeamCommand } from './team-grammar.ts';
import type { CliRequest } from './request.ts';

/** What commander says comes here instead of to the streams. */
export type ParseCapture = { request: CliRequest | undefined; out: string; err: string };

export const buildProgram = (heard: ParseCapture, world: CliWorld): Command => {
  const program = new Command('cloister')
    .description('Runs teams of LLM agents, each in its own cell, and shows what crossed between them.')
    .usage('[options] <command>\n       cloister <agent.ai> [input]\n       cloister <team.yaml> [goal]')
    .version(world.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addHelpText(
      'after',
      `
Example:
  $ cloister demo
  $ cloister init team && cd team
  $ cloister lead.ai "Compare SQLite and DuckDB"
  $ cloister lead.ai --help
  $ cloister team team.yaml "Write a page about bees"
  $ cloister chat lead.ai
  $ cloister serve --agent lead.ai
  $ cloister audit last

\`last\` names the newest run.`,
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (heard.out += text),
      writeErr: (text) => void (heard.err += text),
      getOutHelpWidth: () => world.stdout.columns ?? 80,
      getErrHelpWidth: () => world.stderr.columns ?? 80,
      outputError: () => {},
    });
  const take: Take = (request) => {
    heard.request = request;
  };
  addRunCommand(program, take);
  addTeamCommand(program, take);
  addTalkCommands(program, take);
  addDemoCommand(program, world, take);
  addFileCommands(program, take);
  addReadCommands(program, take);
  addLogCommands(program, take);
  addServeCommands(program, take);
  return program;
};

const addRunCommand = (program: Command, take: Take): void => {
  const run = command(program, 'run', 'run an agent: progress on stderr, the answer on stdout', [
    'cloister run lead.ai "Compare SQLite and DuckDB" --budget-usd 0.50',
    'cloister run lead --agents ./agents < question.txt',
    'cloister run lead.ai --conversation trip --context notes.md "And by train?"',
  ])
    .usage('[options] [agent] [input]')
    .argument('[agent]', 'a file that ends with .ai, or the name of an agent; else `defaultAgent` of the config')
    .argument('[input]', 'what it should do; - or nothing: read it from stdin')
    .helpOption(false)
    .option('--schema <file|json>', 'answer as JSON that fits this JSON Schema', schemaText)
    .option(
      '--conversation <name>',
      'take a turn in this conversation; <agent>/<name>: in another’s',
      conversationNamed,
    )
    .option('--context <file>', 'a text that it should know besides; repeatable', collect);
  runOptions(withWorkspace(withAgents(run)))
    .option('-h, --help', 'print this help; after an .ai file, that of the agent')
    .action((agent: string | undefined, input: string | undefined, flags: Flags) => {
      if (flags.help === true && (agent === undefined || !isPath(agent))) run.help();
      if (agent !== undefined && flags.help === true)
        take({ command: 'agent-help', path: agent, ...outputFlags(flags), ...configOf(flags) });
      else if (input === undefined && agent !== undefined && isInput(agent)) take(runRequest(undefined, agent, flags));
      else take(runRequest(agent, input, flags));
    });
};

/** What no agent can be called is said to the default one. */
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

const addDemoCommand = (program: Command, world: CliWorld, take: Take): void => {
  const demo = command(program, 'demo', 'run the built-in research team, offline, and audit it', [
    'cloister demo',
    `cloister demo "${world.demo.question}" --json`,
  ]).argument('[question]', 'what the team should find out', world.demo.question);
  runOptions(withWorkspace(demo)).action((input: string, flags: Flags) =>
    take({ command: 'demo', agent: world.demo.agent, input, ...runFlags(flags) }),
  );
};

const addFileCommands = (program: Command, take: Take): void => {
  command(program, 'init', 'start a folder with two agents that run at once, offline', ['cloister init team'])
    .argument('[folder]', 'where to', '.')
    .action((folder: string, flags: Flags) => take({ command: 'init', folder, ...outputFlags(flags) }));
  command(program, 'check', 'find what is wrong with agent files, and what they add up to', [
    'cloister check',
    'cloister check lead.ai agents/ --json',
  ])
    .argument('[paths...]', 'files and folders', ['.'])
    .option('--syntax-only', 'each file by itself: nothing is looked up, sub-agents are not followed')
    .option('--connect', 'connect to the tool servers that are named')
    .option('--config <file>', 'a config before all others')
    .action((paths: readonly string[], flags: Flags) => {
      const { syntaxOnly = false, connect = false } = flags;
      take({ command: 'check', paths, syntaxOnly, connect, ...outputFlags(flags), ...configOf(flags) });
    });
  command(program, 'agents', 'list the agents of files and folders', ['cloister agents', 'cloister agents team/'])
    .argument('[paths...]', 'files and folders', ['.'])
    .option('--config <file>', 'a config before all others')
    .action((paths: readonly string[], flags: Flags) =>
      take({ command: 'agents', paths, ...outputFlags(flags), ...configOf(flags) }),
    );
};

const addReadCommands = (program: Command, take: Take): void => {
  const reading = (name: string, description: string, examples: readonly string[]): Command =>
    withWorkspace(command(program, name, description, examples));
  reading('runs', 'list the runs of the workspace, newest first', ['cloister runs']).action((flags: Flags) =>
    take({ command: 'runs', ...common(flags) }),
  );
  reading('show', 'show a run: its cells, figures and answer', [
    'cloister show last',
    'cloister show 4f2a --verbose',
    'cloister show last --window',
    'cloister show last --mail',
  ])
    .argument('<run>', 'a run, its first characters, or `last`')
    .option('--graph <file>', 'of a team: also write the graph of its tasks, as .svg, .mmd or .md')
    .option('--window', 'instead, what fills the window of each agent, and what gave way')
    .addOption(
      new Option('--mail', 'instead, every message: from whom to whom, what became of it, and when').conflicts(
        'window',
      ),
    )
    .action((run: string, flags: Flags) => {
      const { window = false, mail = false, graph = null } = flags;
      take({ command: 'show', run, window, mail, graph, ...common(flags) });
    });
  reading('deadletters', 'list messages that nobody will read, and why', [
    'cloister deadletters',
    'cloister deadletters --run last --json',
  ])
    .option('--run <run>', 'of this run only; else of the newest 100')
    .action((flags: Flags) => take({ command: 'deadletters', run: flags.run ?? null, ...common(flags) }));
  reading('explain', 'say where everything that a cell’s model saw came from', [
    'cloister explain last researcher --find "write-ahead log"',
    'cloister explain last write-up',
  ])
    .argument('<run>', 'a run, its first characters, or `last`')
    .argument('<cell>', 'a cell, its first characters, the name of its agent, or a task of a team')
    .option('--find <text>', 'only what holds this text')
    .action((run: string, cell: string, flags: Flags) =>
      take({ command: 'explain', run, cell, find: flags.find ?? null, ...common(flags) }),
    );
  reading('audit', 'check every crossing and rebuild every prompt of a run', ['cloister audit last'])
    .argument('<run>', 'a run, its first characters, or `last`')
    .action((run: string, flags: Flags) => take({ command: 'audit', run, ...common(flags) }));
};

const runOptions = (run: Command): Command => withBudget(withEvents(run));

const runFlags = (flags: Flags) => ({
  ...common(flags),
  ...configOf(flags),
  ...agentsOf(flags),
  ...budgetOf(flags),
  schema: flags.schema ?? null,
  jsonl: flags.jsonl ?? false,
  conversation: flags.conversation ?? null,
  context: flags.context ?? [],
});

/** What begins like an object must be one; anything else is the name of a file. */
const schemaText = (text: string): string => {
  if (!text.trimStart().startsWith('{')) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new InvalidArgumentError('It is not JSON: give one object in quotes, or a file.');
  }
};
