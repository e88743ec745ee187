// Bugs to plant in spawning and mail: each a small change that a hurried change could make.
import type { Bug } from './planted-bugs.ts';

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

export const mailBugs: readonly Bug[] = [
  // Each message once, to its own reader, in order.
  bug('a message is shown twice', 'mail-show', 'for (const _ of [1, 2]) $(whole)'),
  bug('what is brought to a box twice is handed out twice', 'mailbox-put-again', ''),
  bug('mail that nobody had read is lost in a crash', 'post-load-letter', ''),
  bug(
    'mail leaves the box when a receive begins, not when it is recorded',
    'post-load-receive',
    "if ($(test)) { $(consequent) directory.get(cell)?.box.take({ box: 'any', max: 100 }); }",
  ),
  bug(
    'mail is for a name, and a namesake is given it',
    'post-deliver-letter',
    `const named = $(expression.expression.callee.object.object)?.name;
      [...this.directory.all].find(({ name }) => name === named)?.box.put($(expression.expression.arguments.0));`,
  ),
  bug(
    'the newest of a sender’s messages comes first',
    'mailbox-taken',
    'const $(declarations.0.id) = $(declarations.0.init).toReversed();',
  ),
  bug('who has ended can still be written to', 'directory-remove-member', ''),
  bug('subscriptions are forgotten in a crash', 'post-load-subscription', ''),

  // Boxes are bounded, and whoever waits is woken.
  bug('a box takes any number of letters', 'mailbox-has-room', 'return $(argument.right);'),
  bug(
    'a box is full before it is',
    'mailbox-has-room',
    'return $(argument.left.left) < $(argument.left.right) / 2 && $(argument.right);',
  ),
  bug('what came while an agent was at work does not wake it', 'mailbox-wait-serve', 'if (this.#closing) $(whole)'),
  bug('an agent that waits does not hear that it should end', 'mailbox-close-serve', ''),
  bug('the end of a spawned agent is told to nobody', 'post-tell-end', ''),

  // Who writes, to whom, and after how many others.
  bug(
    'the sender is whoever the text says',
    'mail-sender',
    '$(key): /^Message from ([\\w.:-]+) /u.exec(text)?.[1] ?? $(value)',
  ),
  bug('an answer reaches one that its agent may not write to', 'mail-may-pass', 'return true;'),
  bug('what was read by a tool does not count as a hop', 'mail-read-hops', ''),

  // Spawning.
  bug(
    'an agent that is shut down twice at once is waited for once',
    'call-join',
    '$(expression.callee)($(expression.arguments.0), [$(expression.arguments.1.elements.1)]);',
  ),
  bug(
    'a spawn counts once its turn is over: others of the turn are let through',
    'call-count-spawned',
    'void Promise.resolve().then(() => { $(whole) });',
  ),
  bug(
    'the spawns of a minute are counted after they are let through',
    'spawn-count-recent',
    'void Promise.resolve().then(() => { $(whole) });',
  ),
  bug(
    'the agent that was started last is left when its parent ends',
    'spawned-still-open',
    'const $(declarations.0.id) = $(declarations.0.init.callee.object).slice(0, -1).flatMap($(declarations.0.init.arguments.0));',
  ),
  bug('a spawned agent is not stopped with its parent', 'child-stop', 'if ($(test) && spawned === null) $(consequent)'),
];
