// Bugs to plant in copies of the production code. Each is a small mistake that could happen in a hurry. The simulation must catch
// every one within a fixed number of seeds. None of them ships: they exist as text, and are bundled only while a test runs.

import type { Edit } from '../planted/plant.ts';
import { deletionBugs } from './planted-deletion-bugs.ts';
import { leaseBugs } from './planted-lease-bugs.ts';
import { mailBugs } from './planted-mail-bugs.ts';
import { questionBugs } from './planted-question-bugs.ts';
import { teamBugs } from './planted-team-bugs.ts';

export type Bug = {
  readonly name: string;
  readonly edits: readonly Edit[];
};

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

export const bugs: readonly Bug[] = [
  // Acknowledged data must be stored.
  bug(
    'a frame counts as durable before its batch is acknowledged',
    'log-newest-answered',
    'if ($(test.left) || Boolean(1)) $(consequent)',
  ),
  bug('a batch is acknowledged although its commit failed', 'commit-failed', '$(key): null'),
  bug('a failed batch does not fail the runs that had frames in it', 'batch-failed-runs', ''),
  // invariant: told-after-commit
  bug('readers are told of a frame before its commit', 'told-after-commit', 'this.#pass(frame);'),
  bug('frames are appended after a gap', 'frame-follows', ''),
  bug('a run is taken over from a live process', 'run-owner-lives', ''),

  // Settled work, and work that is not safe to retry, is not repeated.
  bug('a tool that is not safe to retry runs again after a crash', 'step-never-repeated', ''),
  bug(
    'settled tool calls are repeated after a crash',
    'replay-settled',
    `const isTool = !follower.onlyRepeats && frame.record.type === 'begin' && frame.record.name.startsWith('tool:');
    const $(declarations.0.id) = isTool ? undefined : $(declarations.0.init);`,
  ),
  // invariant: effect-after-durable-begin
  bug(
    'work starts before its intent is durable',
    'step-intent-durable',
    `const $(declarations.0.id) = $(declarations.0.init.test.left) && $(declarations.0.init.test.right)
      ? $(declarations.0.init.consequent) : $(declarations.0.init.alternate);`,
  ),
  bug('the key of a call changes after a crash', 'step-key', 'return `${$(argument)}@${this.#workStartedAt}`;'),
  bug('a call is made after its step has ended, because opening its source took long', 'source-opened-late', ''),

  // A JSON answer is its value.
  bug('a duplicate key of an answer is dropped in silence', 'json-answer-problems', ''),
  bug('a JSON answer is passed on with the text around it', 'json-answer-value', 'if ($(test)) return { json: text };'),

  // Order and records.
  // invariant: settlements-in-recorded-order
  bug(
    'settlements are delivered in the order begun, not in the order recorded',
    'replay-earliest',
    'if ($(test.left) && $(test.right.left)) $(consequent)',
  ),
  bug('context is taken after a request was refused', 'takes-context', ''),
  // invariants: frame-holds-its-crossings, door-decides-in-frame
  bug(
    'ledger entries are in the frame after their effect',
    'frame-seal-ledger',
    'const $(declarations.0.id) = (this as any).planted; (this as any).planted = $(declarations.0.init);',
  ),
  bug('the log does not show that a cell was stopped', 'cell-halted-by', 'return undefined;'),
  bug('a cancel is not recorded', 'run-record-cancel', ''),
  bug('a run ends twice in its log', 'run-record-end', 'if ($(test)) for (const _ of [1, 2]) $(consequent)'),
  bug('a result crosses back although no grant allows it', 'policy-result', 'kind'),
  bug('a goal crosses although no grant allows it', 'policy-down', 'kind'),
  // invariant: door-asks-policy
  bug(
    'the door looks up the ends of a crossing the wrong way round',
    'door-ends',
    'const $(declarations.0.id) = { from: this.#end(to), to: this.#end(from) };',
  ),

  // Money.
  bug('the cost of an attempt is not booked', 'account-settle-hold', 'if ($(test)) $(consequent)'),
  bug('a hold is taken only in the cell’s own account', 'account-take-hold', 'for ($(left) of [this]) $(body)'),
  bug('a hold is not released', 'step-give-back-hold', ''),
  bug(
    'a request that the provider refused counts as its whole hold',
    'model-refusals',
    'status >= 400 && status < 500',
  ),
  bug('a request that a gateway lost counts as nothing', 'model-refusals', 'status >= 400'),
  bug('an error in the middle of a reply counts as nothing', 'model-refused', '$(right)'),
  bug('a hold with unknown usage counts as unused', 'account-settle-hold', 'if (!($(test))) $(alternate)'),
  bug('holds that were in flight at a crash count as unused', 'account-load-under-way', ''),
  bug('the log does not show that a hold was granted later', 'step-record-held', ''),
  bug('a step that is stopped while it waits for its hold still gets it', 'step-withdraw-hold', ''),
  bug(
    'more children are started than the budget allows',
    'account-spawns-left',
    'if ($(test.left) && $(test.right.left) > $(test.right.right)) $(consequent)',
  ),
  // invariant: hold-by-own-facts
  bug(
    'the longest reply follows the balance',
    'reply-cap-caps',
    `caps: $(value).map((caps) => ({
      ...caps,
      tokens: (caps.tokens ?? Infinity) - $(value.object).spent.inputTokens,
      nanoUsd: (caps.nanoUsd ?? Infinity) - ($(value.object).spent.usd ?? 0) * 1e9,
    }))`,
  ),
  bug('a cell that cost more than its hold goes on', 'reply-overdrawn', ''),

  // Stopping.
  bug('a child that starts after the stop keeps running', 'child-created-halted', ''),
  bug('a timeout is left over when its step settles', 'step-stop-timer', ''),
  bug('a slot is not released', 'step-give-back-slot', ''),
  bug('a cell ends before its operations have settled', 'run-drained', ''),
  bug('a child has no deadline', 'child-deadline', '$(key): 0'),
  bug('a reply that finished with an error is accepted', 'answer-ended-with-error', ''),

  // Windows and shares.
  bug(
    'a child also gets its caller’s dialog',
    'share-held',
    `const $(declarations.0.id) = [...$(declarations.0.init), ...window.view.flatMap(({ category, part }) =>
      category === 'DIALOG' && 'message' in part ? [{ category: 'CONTEXT', text: JSON.stringify(part.message.content) }] : [])];`,
  ),
  bug(
    'a child gets a share that its definition does not ask for',
    'share-wanted',
    `...(agent.permissions.share.length === 0
    ? {}
    : { gives: [{ kind: 'share' as const, content: shareOf({ ...agent, permissions: { ...agent.permissions, share: ['system', 'context'] } }, session) }] })`,
  ),
  // invariant: skills-own-only
  bug(
    'a skill is read from whichever agent read one before',
    'own-skills',
    '((own: any) => { const before = (globalThis as any).planted ?? own; (globalThis as any).planted = own; return before; })($(whole))',
  ),
  bug(
    'a child that shares gets the instructions of the caller of its parent',
    'share-prompt',
    `const received = window.view.flatMap(({ part, origin }) =>
    origin.rule === 'shared-system@1' && cell.runtime.parent === null && 'message' in part
      ? [{ category: 'SYSTEM', text: String(part.message.content) } as const]
      : [],
  );
  const $(declarations.0.id) = [...$(declarations.0.init), ...received];`,
  ),
  bug(
    'a refreshed share is copied completely each time',
    'share-changed',
    'const $(declarations.0.id) = $(declarations.0.init.callee.object);',
  ),
  bug('context that was given during the run is lost in a crash', 'arrivals-recorded', '...[]'),
  bug(
    'given context is shown by arrival, not by its place in the log',
    'arrivals-before',
    'const $(declarations.0.id) = Infinity;',
  ),
  bug('given context has no frame of its own', 'run-record-gift', ''),
  bug(
    'an old tool result is dropped without its call',
    'window-shorten-output',
    "$(expression.callee.object).drop($(expression.arguments.0), $(expression.arguments.1), 'trim@1'); break;",
  ),
  bug(
    'a model’s window is assumed to be larger than it is',
    'window-of-model',
    `let $(declarations.0.id) = $(declarations.0.init.test)
      ? { ...$(declarations.0.init.consequent), tokens: $(declarations.0.init.test) * 9 } : null;`,
  ),

  // Conversations, checkpoints and forks.
  bug(
    'a turn starts even if its workspace record could not be written',
    'turn-note-page',
    '$(expression.argument).catch(() => undefined);',
  ),
  bug('an agent takes two turns at the same time', 'turn-hold-runs', ''),
  bug(
    'an interrupted turn is resumed while the next one starts',
    'held-run-ended',
    "if ($(test) || $(test.left) === 'interrupted') $(consequent)",
  ),
  bug('a conversation is restored during a turn', 'restore-hold-runs', ''),
  bug(
    'a workspace record counts as written before it is',
    'page-written',
    `if (item.after !== undefined) {
      $(declarations.0.init.argument.object);
      return item.after + 1;
    }
    $(whole)`,
  ),
  bug('a workspace record is written despite a conflict', 'page-follows', ''),
  bug('entries that a restore removed are still in the history', 'restore-taken-at', 'conversationState.newest'),
  bug('a restore to the end of a turn changes nothing', 'restore-newest-turn', 'if (run !== null) $(whole)'),
  bug(
    'a branch continues with later entries of its origin',
    'branch-first-turn',
    `if ($(test)) $(consequent.expression.callee)($(consequent.expression.arguments.0),
      { ...$(consequent.expression.arguments.1), previous: before?.newest ?? null });`,
  ),
  bug('a branch loses the earlier history', 'branch-keep-said', 'const $(declarations.0.id) = null;'),
  bug('the contents of files are not stored for the next turn', 'inherit-contents', ''),
  bug('the next turn has the first content of a file', 'turn-file-written', 'if (!files.has(path)) $(whole)'),
  bug('each turn counts its outputs from 1', 'output-counts', 'new Map()'),
  bug('a branch begins without files', 'branch-turns', 'return [];'),
  bug('conversation history is in wall-clock order', 'turn-earliest-time', 'const $(declarations.0.id) = 0;'),
  bug('a restore keeps one record too few', 'cut-length', 'Math.max(1, $(whole) - 1)'),
  bug(
    'a restore keeps one record too many',
    'checkpoint-read-frames',
    'return $(argument.callee)($(argument.arguments.0), $(argument.arguments.1) + 1);',
  ),
  {
    name: 'a checkpoint mixes two moments',
    edits: [
      { probe: 'checkpoint-durable', put: 'const planted = () => $(expression.argument);' },
      {
        probe: 'checkpoint-cut',
        put: 'const { hash } = $(declarations.0.init); await planted(); const { frames } = $(declarations.0.init);',
      },
    ],
  },
  bug('a forked run books the calls of its origin', 'log-fork-in-flight', ''),
  bug('a forked run starts without its ledger', 'cut-frame', '({ links: _links, ...$(params.0) }) => ($(body))'),
  bug('a forked run uses the idempotency keys of its origin', 'fork-step-key', 'return $(argument.consequent);'),

  // Spawned agents and mail.
  ...mailBugs,

  // Teams.
  ...teamBugs,
  ...questionBugs,
  ...deletionBugs,
  ...leaseBugs,
];
