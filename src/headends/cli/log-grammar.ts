// The grammar of what is done with a run after the fact, and of `verify`.
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { GrantName } from '#contracts';
import {
  agentsOf,
  command,
  common,
  configOf,
  someNumber,
  outputFlags,
  wholeNumber,
  withAgents,
  withEvents,
  withWorkspace,
} from './grammar.ts';
import type { Flags, Take } from './grammar.ts';

const aRun = 'a run, its first characters, or `last`';

export const addLogCommands = (program: Command, take: Take): void => {
  addResume(program, take);
  addReplay(program, take);
  addFork(program, take);
  addDiff(program, take);
  addVerify(program, take);
};

const ofRun = (flags: Flags) => ({ ...common(flags), ...agentsOf(flags), ...configOf(flags) });

const addResume = (program: Command, take: Take): void => {
  const resume = command(program, 'resume', 'go on with an interrupted run where it was', [
    'cloister resume last',
    'cloister resume 4f2a --agents ./agents',
  ])
    .argument('<run>', aRun)
    .option('--take-over', 'from an owner on another machine that is gone for good');
  withEvents(withWorkspace(withAgents(resume))).action((run: string, flags: Flags) =>
    take({
      command: 'resume',
      run,
      jsonl: flags.jsonl ?? false,
      takeOver: flags.takeOver ?? false,
      ...ofRun(flags),
    }),
  );
};

const addReplay = (program: Command, take: Take): void => {
  const replay = command(program, 'replay', 'make a run again from its log, offline, and compare every record', [
    'cloister replay last',
  ]).argument('<run>', aRun);
  withWorkspace(withAgents(replay)).action((run: string, flags: Flags) =>
    take({ command: 'replay', run, ...ofRun(flags) }),
  );
};

const addFork = (program: Command, take: Take): void => {
  const fork = command(program, 'fork', 'start a new run from a place in another, with something changed', [
    'cloister show last --verbose     # lists the operations',
    'cloister fork last --at lead/4 --model openai/gpt-5-mini',
    'cloister fork last --at researcher --goal "Look for DuckDB only"',
  ])
    .argument('<run>', aRun)
    .requiredOption('--at <place>', '<cell>/<operation>: the first one not kept; <cell>: its beginning')
    .option('--model <provider/model>', 'the model of the agent there')
    .option('--without-grant <name>', 'a grant that the agent there loses; repeatable', grantName)
    .option('--goal <text>', 'another goal, where a cell begins');
  withEvents(withWorkspace(withAgents(fork))).action((run: string, flags: Flags) => {
    const { at = '', model = null, withoutGrant = [], goal = null, jsonl = false } = flags;
    const withoutGrants = withoutGrant.filter(isGrant);
    take({ command: 'fork', run, at, model, withoutGrants, goal, jsonl, ...ofRun(flags) });
  });
};

const addDiff = (program: Command, take: Take): void => {
  const diff = command(program, 'diff', 'say where two runs part, cell by cell; exit 1 when they do', [
    'cloister diff 4f2a last',
  ])
    .argument('<run>', aRun)
    .argument('<other>', 'another one, such as a fork of it');
  withWorkspace(diff).action((run: string, other: string, flags: Flags) =>
    take({ command: 'diff', run, other, ...common(flags) }),
  );
};

const addVerify = (program: Command, take: Take): void => {
  const verify = command(program, 'verify', 'run pairs that differ in one cell’s private content; compare the others', [
    'cloister verify lead.ai',
    'cloister verify research --pairs 5000 --seed 42 --json',
  ])
    .argument('<agent>', 'a file that ends with .ai, the name of an agent, or of an example')
    .option('--pairs <n>', 'how many pairs to run', someNumber, 1000)
    .option('--seed <n>', 'where to start; a difference names its own', wholeNumber);
  withAgents(verify).action((agent: string, flags: Flags) => {
    const { pairs = 1000, seed = null } = flags;
    take({ command: 'verify', agent, pairs, seed, ...outputFlags(flags), ...agentsOf(flags), ...configOf(flags) });
  });
};

const grantNames: Readonly<Record<GrantName, true>> = {
  goal: true,
  result: true,
  note: true,
  history: true,
  share: true,
};

const isGrant = (name: string): name is GrantName => Object.hasOwn(grantNames, name);

const grantName = (name: string, before: readonly string[] = []): readonly string[] => {
  if (!isGrant(name)) throw new InvalidArgumentError(`It must be one of: ${Object.keys(grantNames).join(', ')}.`);
  return [...before, name];
};
