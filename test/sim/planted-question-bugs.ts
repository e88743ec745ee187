// Bugs to plant in questions to people. Each is a small mistake that could happen in a hurry.
import type { Bug } from './planted-bugs.ts';

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

/** Settled questions are taken as open ones when a run is resumed. */
const settledAreOpen = {
  probe: 'replay-settled',
  put: `const isAsk = !follower.onlyRepeats && frame.record.type === 'begin' && frame.record.do === 'ask';
    const $(declarations.0.id) = isAsk ? undefined : $(declarations.0.init);`,
};

export const questionBugs: readonly Bug[] = [
  // Who is asked, and before what.
  // invariant: marked-call-asks-first
  bug(
    'a marked tool asks nobody if a child calls it',
    'approval-skipped',
    'session.cell.parent === null && $(test) ? $(consequent) : $(alternate)',
  ),
  bug('a call does not name the question that allowed it', 'call-about-ask', 'const $(declarations.0.id) = {};'),
  bug(
    'a call that a person allowed is made before the answer is durable',
    'step-intent-durable',
    'const $(declarations.0.id) = $(declarations.0.init.test.left) ? $(declarations.0.init.consequent) : undefined;',
  ),

  // What was answered is what happens.
  bug('a call that a person denied is made', 'ruling-verdict', "{ ...$(whole), verdict: 'allow' }"),
  // invariant: expired-is-denied
  bug('a call about which nobody answered is made', 'question-expires', "this.#settle(waiting, { verdict: 'allow' });"),
  // invariant: answered-is-what-runs
  bug('a tool gets the arguments of its model although a person changed them', 'approved-args', 'const used = args;'),
  bug(
    'arguments change after a person allowed them',
    'approved-args',
    'const used = { ...$(declarations.0.init.left), ...args, fail: true };',
  ),

  // Which answers are taken.
  // invariant: ruling-by-those-who-may
  bug('anybody may answer', 'ruling-by', ''),
  // invariant: ruling-names-what-was-shown
  bug('an answer about other arguments is taken', 'ruling-hash', ''),
  bug(
    'a ruling names another right than its sender had',
    'ruling-record',
    "const frame = this.#run.write(waiting.cell.cellId, at, { type: 'ruling', ...ruling, right: 'operator' });",
  ),
  // invariant: question-settles-once
  {
    name: 'a question can be answered twice',
    edits: [
      { probe: 'question-waits-no-longer', put: '' },
      { probe: 'question-over', put: '' },
    ],
  },

  // After a crash.
  {
    name: 'questions that had ended are asked again after a crash',
    edits: [settledAreOpen, { probe: 'question-over', put: '' }, { probe: 'question-decided', put: '' }],
  },

  // What an answer covers.
  bug(
    'what a person allowed for the run covers other agents',
    'answer-covers',
    '`${argsHash} ${tool} ${digest.length}`',
  ),
  bug(
    'what a person allowed for the run covers other arguments',
    'answer-covers',
    '`${digest} ${argsHash.length} ${tool}`',
  ),

  // invariant: answer-not-forked
  bug('an agent that a person allowed in one run continues in a fork of it', 'agent-allowed-at-work', 'return null;'),

  // How many people.
  bug('one person is enough, whatever the definition says', 'quorum-need', '1'),
  {
    name: 'a person who allows a call twice counts as two',
    edits: [
      { probe: 'ruling-once-each', put: '' },
      {
        probe: 'quorum-people',
        put: 'people.set(allowed, (people.get(allowed) ?? new Set()).add(`${by} ${people.get(allowed)?.size ?? 0}`));',
      },
    ],
  },
  bug(
    'people who allow different arguments are counted together',
    'quorum-args',
    'const allowed = argumentsHash(args ?? {}) && argsHash;',
  ),
  bug(
    'a function of the arguments decides although the definition marks the tool',
    'approval-decided-by',
    "return approvedTool(tool, mark, typeof approve === 'function' ? approve : undefined);",
  ),
  bug('people are asked about calls that the tool itself lets pass', 'approval-skipped', '$(consequent)'),

  // From other processes.
  // invariant: signal-kept-until-durable
  bug('a signal is removed before its effect is durable', 'signal-durable', ''),
  bug('a run forgets in a crash that it was asked to finish', 'signal-held', "return 'over';"),
  // invariant: same-id-sent-once
  bug('a message that was sent by a signal is sent again after a crash', 'message-sent-before', ''),
  bug('signals stay when their run has ended', 'signals-end', ''),
  bug('signals are not noticed while the run works', 'signals-watched', ''),
  bug(
    'signals that came while nobody owned the run are dropped',
    'signals-taken-over',
    'for (const { id } of waiting) void this.#ports.store.removeSignal(run, id);',
  ),
  {
    name: 'two processes take answers to the same question',
    edits: [
      { probe: 'answer-resumes-left', put: 'return summary === undefined ? undefined : resume(run);' },
      { probe: 'run-owner-lives', put: '' },
    ],
  },

  // Slots.
  // invariant: wait-ends-when-admitted
  bug('an answer continues a run that has no slot', 'wait-admitted', 'return act();'),
  bug('a question that expires continues a run that has no slot', 'expires-when-admitted', 'expire();'),

  // Time.
  bug('waiting for a person uses up the time until the deadline', 'deadline-waits', '0 * $(whole)'),
  // invariant: pause-when-nothing-works
  bug('the deadline of a cell moves while it works, because it also waits for a person', 'cell-paused', '$(right)'),
];
