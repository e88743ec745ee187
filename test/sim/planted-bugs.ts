// Bugs to plant in copies of the production code: each a small change that a hurried change could make. The simulation must
// catch every one within a fixed number of seeds. Nothing of them ships: they exist as text, and bundled while a test runs.

import type { Edit } from '../planted/plant.ts';
import { mailBugs } from './planted-mail-bugs.ts';
import { teamBugs } from './planted-team-bugs.ts';

export type Bug = { readonly name: string; readonly edits: readonly Edit[] };

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

export const bugs: readonly Bug[] = [
  // What is acknowledged must be there.
  bug('a frame counts as durable before its batch was answered', 'log-newest-answered', '$(consequent)'),
  bug('a batch is acknowledged though its commit failed', 'commit-failed', '$(key): null'),
  bug('a failed batch does not fail the runs that had frames in it', 'batch-failed-runs', ''),
  bug('frames are appended behind a gap', 'frame-follows', '$(consequent)'),
  bug('a run is taken from a process that lives', 'run-owner-lives', ''),

  // What has settled does not happen again, and what must not be repeated is not.
  bug('a tool that may not be repeated runs again after a crash', 'step-never-repeated', ''),
  bug(
    'tool calls that have settled run again after a crash',
    'replay-settled',
    "if (($(test.left) || record.name.startsWith('tool:')) && $(test.right)) $(consequent) else $(alternate)",
  ),
  bug(
    'work starts before its intent is durable',
    'step-intent-durable',
    `const $(declarations.0.id) = $(declarations.0.init.test.left) && $(declarations.0.init.test.right)
      ? $(declarations.0.init.consequent) : $(declarations.0.init.alternate);`,
  ),
  bug('the key of a call is another one after a crash', 'step-key', 'return `${$(argument)}@${this.#workedFrom}`;'),
  bug('a call goes out though its step is over, because opening its source took long', 'source-opened-late', ''),

  // Order and records.
  bug(
    'settlements are handed out in the order begun, not in the order recorded',
    'replay-earliest',
    'if ($(test.left) && $(test.right.left)) $(consequent)',
  ),
  bug(
    'ledger entries ride in the frame after their effect',
    'frame-seal-ledger',
    'const $(declarations.0.id) = (this as any).planted; (this as any).planted = $(declarations.0.init);',
  ),
  bug('a stopped cell leaves no trace of having been stopped', 'cell-halted-by', 'return undefined;'),
  bug('a cancel is not recorded', 'run-record-cancel', ''),
  bug(
    'a run ends twice in its log',
    'run-record-end',
    'if ($(test)) for (const _ of [1, 2]) $(consequent) else $(alternate)',
  ),
  bug('a result crosses back though no grant allows it', 'cross-refused', ''),

  // Money.
  bug('what an attempt cost is not counted', 'account-settle-hold', 'if ($(test)) $(consequent)'),
  bug('a hold is taken in the cell’s own account only', 'account-take-hold', 'for ($(left) of [this]) $(body)'),
  bug('a hold is not given back', 'step-give-back-hold', ''),
  bug('a hold whose use is not known counts as unused', 'account-settle-hold', 'if (!($(test))) $(alternate)'),
  bug('holds that were under way at a crash count as unused', 'account-load-under-way', ''),
  bug(
    'children are started past the number allowed',
    'account-spawns-left',
    'if ($(test.left) && $(test.right.left) > $(test.right.right)) $(consequent)',
  ),

  // Stopping.
  bug('a child that begins after the stop goes on', 'child-born-halted', ''),
  bug('a time-out is left behind when its step settles', 'step-stop-timer', ''),
  bug('a slot is not given back', 'step-give-back-slot', ''),
  bug('a cell ends before what it began has settled', 'run-drained', ''),
  bug('a child has no deadline', 'child-deadline', '$(key): 0'),
  bug('an answer that ended with an error is taken', 'answer-ended-with-error', ''),

  // Windows, and what cells are given.
  bug(
    'a child is given its caller’s dialog as well',
    'share-held',
    `const $(declarations.0.id) = () => [...$(declarations.0.init.body), ...session.window.view.flatMap(({ category, part }) =>
      category === 'DIALOG' && 'message' in part ? [{ category: 'CONTEXT', text: JSON.stringify(part.message.content) }] : [])];`,
  ),
  bug(
    'a child is given what its definition does not ask for',
    'share-wanted',
    "agent = { ...agent, share: $(test) ? [] : ['system', 'context'] };",
  ),
  bug(
    'a share is copied whole each time it is asked for again',
    'share-changed',
    'const $(declarations.0.id) = $(declarations.0.init.callee.object);',
  ),
  bug('what was given while the process lived is not there after a crash', 'arrivals-recorded', '...[]'),
  bug(
    'what is given is shown as it comes, not by its place in the log',
    'arrivals-before',
    'const $(declarations.0.id) = Infinity;',
  ),
  bug('what is given is in no frame of its own', 'run-record-gift', ''),
  bug(
    'an old output is dropped without its call',
    'window-shorten-output',
    "$(expression.callee.object).drop($(expression.arguments.0), $(expression.arguments.1), 'trim@1'); break;",
  ),
  bug(
    'the window of a model is taken for larger than it is',
    'window-of-model',
    `let $(declarations.0.id) = $(declarations.0.init.test)
      ? { ...$(declarations.0.init.consequent), tokens: $(declarations.0.init.test) * 9 } : null;`,
  ),

  // Conversations, checkpoints, and what goes on from them.
  bug(
    'a turn begins whether or not its page could be written',
    'turn-note-page',
    '$(expression.argument).catch(() => undefined);',
  ),
  bug('an agent takes two turns at once', 'turn-hold-runs', ''),
  bug(
    'an interrupted turn is gone on with while the next one begins',
    'held-run-ended',
    "if ($(test) || $(test.left) === 'interrupted') $(consequent)",
  ),
  bug('a conversation is set back under a turn', 'restore-hold-runs', ''),
  bug(
    'a page counts as written before it is',
    'page-written',
    `if (page.after !== undefined) {
      $(declarations.0.init.argument.object);
      return page.after + 1;
    }
    $(whole)`,
  ),
  bug('a page is written though others came first', 'page-follows', ''),
  bug('what a restore set aside is still told', 'restore-taken-at', 'kept.newest'),
  bug('a restore to the end of a turn changes nothing', 'restore-newest-turn', 'if (run !== null) $(whole)'),
  bug(
    'a branch goes on with what its origin says later',
    'branch-first-turn',
    `if ($(test)) $(consequent.expression.callee)($(consequent.expression.arguments.0),
      { ...$(consequent.expression.arguments.1), previous: before?.newest ?? null });`,
  ),
  bug('a branch forgets what was said before it', 'branch-keep-said', 'const $(declarations.0.id) = null;'),
  bug(
    'what was said is told in the order of the clock on the wall',
    'turn-earliest-time',
    'const $(declarations.0.id) = 0;',
  ),
  bug('a restore keeps one record too few', 'cut-length', 'Math.max(1, $(whole) - 1)'),
  bug(
    'a restore keeps one record too many',
    'checkpoint-read-frames',
    'return $(argument.callee)($(argument.arguments.0), $(argument.arguments.1) + 1);',
  ),
  {
    name: 'a checkpoint is of two moments',
    edits: [
      { probe: 'checkpoint-durable', put: 'const planted = () => $(expression.argument);' },
      {
        probe: 'checkpoint-cut',
        put: 'const { hash } = $(declarations.0.init); await planted(); const { frames } = $(declarations.0.init);',
      },
    ],
  },
  bug(
    'a run that goes on from a cut counts the calls of the other one',
    'log-last-fork',
    'const $(declarations.0.id) = -1;',
  ),
  bug(
    'a run that goes on from a cut begins without its ledger',
    'cut-frame',
    '({ links: _links, ...$(params.0) }) => ($(body))',
  ),
  bug(
    'a run that goes on from a cut calls under the keys of the other one',
    'fork-step-key',
    'return $(argument.consequent);',
  ),

  // Spawned agents and mail.
  ...mailBugs,

  // Teams.
  ...teamBugs,
];
