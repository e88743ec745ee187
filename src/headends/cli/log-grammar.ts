// The grammar of the commands that work on an existing run, and of `verify`.
import { InvalidArgumentError } from 'commander';
import type { Command } from 'commander';
import type { GrantName } from '#contracts';
import {
  agentsFlag,
  command,
  common,
  configFlag,
  positiveInteger,
  outputFlags,
  wholeNumber,
  withAgents,
  withEvents,
  withWorkspace,
} from './shared/grammar.ts';
import type { Flags, TakeRequest } from './shared/grammar.ts';

const runHelp = 'a run id, a prefix of one, or `last`';

export const addLogCommands = (program: Command, take: TakeRequest): void => {
  addResume(program, take);
  addReplay(program, take);
  addFork(program, take);
  addDiff(program, take);
  addVerify(program, take);
};

const existingRun = (flags: Flags) => ({ ...common(flags), ...agentsFlag(flags), ...configFlag(flags) });

const addResume = (program: Command, take: TakeRequest): void => {
  const resume = command(program, 'resume', 'continue an interrupted run', [
    'cloister resume last',
    'cloister resume 4f2a --agents ./agents',
  ])
    .argument('<run>', runHelp)
    .option('--take-over', 'take the run over from a dead process on another machine');
  withEvents(withWorkspace(withAgents(resume))).action((run: string, flags: Flags) =>
    take({
      command: 'resume',
      run,
      jsonl: flags.jsonl ?? false,
      takeOver: flags.takeOver ?? false,
      ...existingRun(flags),
    }),
  );
};

const addReplay = (program: Command, take: TakeRequest): void => {
  const replay = command(program, 'replay', 're-execute a run from its log, offline, and compare every record', [
    'cloister replay last',
  ]).argument('<run>', runHelp);
  withWorkspace(withAgents(replay)).action((run: string, flags: Flags) =>
    take({ command: 'replay', run, ...existingRun(flags) }),
  );
};

const addFork = (program: Command, take: TakeRequest): void => {
  const fork = command(program, 'fork', 'start a new run from a point in another run, with changes', [
    'cloister show last --verbose     # lists the operations',
    'cloister fork last --at lead/4 --model openai/gpt-5-mini',
    'cloister fork last --at researcher --goal "Look only at DuckDB"',
  ])
    .argument('<run>', runHelp)
    .requiredOption('--at <point>', 'first operation to redo: <cell>/<operation>, or <cell> for the whole cell')
    .option('--model <provider/model>', 'use this model for the agent at that point')
    .option('--without-grant <name>', 'remove this grant from that agent; repeatable', grantName)
    .option('--goal <text>', 'new goal; only if --at is the start of a cell');
  withEvents(withWorkspace(withAgents(fork))).action((run: string, flags: Flags) => {
    const { at = '', model = null, withoutGrant = [], goal = null, jsonl = false } = flags;
    const withoutGrants = withoutGrant.filter(isGrant);
    take({ command: 'fork', run, at, model, withoutGrants, goal, jsonl, ...existingRun(flags) });
  });
};

const addDiff = (program: Command, take: TakeRequest): void => {
  const diff = command(program, 'diff', 'compare two runs cell by cell; exit 1 if they differ', [
    'cloister diff 4f2a last',
  ])
    .argument('<run>', runHelp)
    .argument('<other>', 'the other run, such as a fork of the first');
  withWorkspace(diff).action((run: string, other: string, flags: Flags) =>
    take({ command: 'diff', run, other, ...common(flags) }),
  );
};

const addVerify = (program: Command, take: TakeRequest): void => {
  const verify = command(
    program,
    'verify',
    'test isolation: vary one cell’s private content and check that no other cell notices',
    ['cloister verify lead.ai', 'cloister verify research --pairs 5000 --seed 42 --json'],
  )
    .argument('<agent>', 'an .ai file, a team file, an agent name or the name of an example')
    .option('--pairs <n>', 'number of pairs of runs to compare', positiveInteger, 1000)
    .option('--seed <n>', 'first seed; a reported difference prints its seed', wholeNumber);
  withAgents(verify).action((agent: string, flags: Flags) => {
    const { pairs = 1000, seed = null } = flags;
    take({ command: 'verify', agent, pairs, seed, ...outputFlags(flags), ...agentsFlag(flags), ...configFlag(flags) });
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
