// Bugs to plant in spawning and mail. Each is a small mistake that could happen in a hurry.
import type { Bug } from './planted-bugs.ts';

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

export const mailBugs: readonly Bug[] = [
  // A spawned agent has no more than its parent's definition and the call leave it.
  bug('a spawned agent does not inherit its parent’s limits', 'inherited-limits', '{}'),
  bug('a shorter timeout in a call has no effect', 'call-timeout', '{}'),

  // Each message is received once, by its recipient, in order.
  bug('a message is shown twice', 'mail-show', 'for (const _ of [1, 2]) $(whole)'),
  // invariant: mailbox-hands-out-once
  bug('mail that is delivered twice is received twice', 'mailbox-put-again', ''),
  bug('unread mail is lost in a crash', 'mail-load', 'if ($(test)) this.#nextMail({ ...frame, contents: [] });'),
  bug(
    'mail leaves the mailbox when a receive begins, not when it settles',
    'post-load-receive',
    "if ($(test)) { $(consequent) this.#directory.get(cell)?.mailbox.take({ channel: 'any', max: 100 }); }",
  ),
  // invariant: mail-addressed-to-a-cell
  {
    name: 'a namesake gets the mail of another agent',
    edits: [
      // Nobody notices that it never crossed into its reader.
      { probe: 'ledger-check-crossed', put: '' },
      {
        probe: 'post-deliver-letter',
        put: `const named = $(expression.expression.callee.object.object)?.agent;
    [...directory.all].find(({ agent }) => agent === named)?.mailbox.put($(expression.expression.arguments.0));`,
      },
      {
        probe: 'mail-deliver-address',
        put: `const named = this.directory.get(crossed.cell)?.agent;
      const namesake = [...this.directory.all].find(({ agent }) => agent === named)?.cell;
      const $(declarations.0.id) = this.#addresses.get(isMessage(crossed) && namesake !== undefined ? namesake : crossed.cell);`,
      },
    ],
  },
  bug(
    'a sender’s latest message comes first',
    'mailbox-taken',
    'const $(declarations.0.id) = $(declarations.0.init).toReversed();',
  ),
  bug('an agent that has ended can still be messaged', 'directory-remove-member', ''),
  bug('a subscription has no effect', 'post-load-subscription', ''),

  // Mailboxes are bounded, and a waiting agent is woken.
  bug('a mailbox accepts any number of messages', 'mailbox-has-room', 'return $(argument.right);'),
  bug(
    'a mailbox counts as full too early',
    'mailbox-has-room',
    'return $(argument.left.left) < $(argument.left.right) / 2 && $(argument.right);',
  ),
  bug(
    'mail that arrived while an agent was working does not wake it',
    'mailbox-wait-serve',
    'if (this.#closing) $(whole)',
  ),
  bug('a waiting agent is not told to finish', 'mailbox-close-serve', ''),
  bug('nobody gets the result of a spawned agent', 'post-tell-end', ''),

  // Senders, recipients and chains.
  // invariant: mail-sender-set-by-run
  bug(
    'the sender is taken from the text of the message',
    'mail-sender',
    '$(key): /^Message from ([\\w.:-]+) /u.exec(text)?.[1] ?? $(value)',
  ),
  // invariant: mail-needs-both-names
  bug(
    'an agent may message one that does not name it',
    'policy-may-write',
    '(one.cell !== other.cell && (lists(one, other) || lists(other, one)))',
  ),
  bug('mail read with a tool is not part of the chain', 'mail-read-chain', ''),

  // A parent that has answered waits for the work of its agents, and takes nothing from them meanwhile.
  bug('a parent that has answered does not wait for its agents', 'spawned-wait', ''),
  bug(
    'a parent waits only for the agents that it spawned itself',
    'directory-idle-below',
    'for (const { mailbox } of this.#byParent.get(cell) ?? []) if (!mailbox.idle) return false;',
  ),
  bug('a parent that waits still reserves its next request', 'spawned-wait-floor', ''),
  bug(
    'the words of spawned agents cross to their parent’s parent',
    'envelope-spawned',
    'const $(declarations.0.id) = spawned;',
  ),

  // Each piece of work is for one asker, who alone gets the answer.
  bug('a piece of work gets the mail of all senders', 'mailbox-one-work', 'const $(declarations.0.id) = wanted;'),
  bug('mail read with a tool makes its sender the asker', 'mail-read-asker', 'session.asker = { from, id };'),
  bug('a person’s message that was read with a tool is not answered', 'mail-read-asker', 'if ($(test)) $(consequent)'),
  bug(
    'an answer also goes to the next one that waits',
    'answer-send',
    `$(whole)
  const { directory } = cell.run.mail;
  const next = directory.get(cell.cellId)?.mailbox.unread.at(-1)?.from;
  const reader = next === undefined || next === 'outside' ? undefined : directory.get(next);
  if (reader !== undefined) sendTo(cell, reader, { ...message, id: id + '0' }, at);`,
  ),
  bug('the end of an agent tells its caller what it wrote for others', 'outcome-text', 'session.latestText'),

  // Messages to the person, and sessions that are resumed.
  bug(
    'a message to the person counts as delivered before it was handed out',
    'message-hand-out',
    'session.confirm(item.id); $(whole)',
  ),
  bug('what nobody had taken before a crash is not handed out again', 'message-load', ''),
  bug(
    'a session that is resumed is asked to finish',
    'run-attach',
    "$(whole) if ('recorded' in start && session.resident) live.do({ do: 'finish' });",
  ),

  // Spawning.
  {
    name: 'only one of two simultaneous shutdowns of an agent waits for it',
    edits: [
      {
        probe: 'call-join',
        put: '$(expression.callee)($(expression.arguments.0), [$(expression.arguments.1.elements.1)]);',
      },
    ],
    // The other call never gets a result, and the turn that shows all results fails.
  },
  // invariant: spawn-checked-without-await
  bug(
    'a spawn counts only after its turn, so others in the same turn exceed the limit',
    'count-spawned',
    'void Promise.resolve().then(() => { $(whole) });',
  ),
  bug(
    'one more agent than allowed is spawned in a minute',
    'spawn-recent',
    'const $(declarations.0.id) = $(declarations.0.init).slice(1);',
  ),
  bug(
    'somebody outside starts more agents than the `spawns` of the agent above allow',
    'outside-spawn-rules',
    'const $(declarations.0.id) = { ...$(declarations.0.init), children: 100, perMinute: 100 };',
  ),
  bug(
    'the last spawned agent is left running when its parent ends',
    'spawned-still-open',
    'const $(declarations.0.id) = $(declarations.0.init.callee.object).slice(0, -1).flatMap($(declarations.0.init.arguments.0));',
  ),
  bug('a spawned agent is not stopped with its parent', 'child-stop', 'if (operation.spawned === undefined) $(whole)'),
];
