// Bugs to plant in spawning and mail: each a small change that a hurried change could make.
import type { Bug } from './planted-bugs.ts';

const mailbox = 'src/core/bus/mailbox.ts';
const directory = 'src/core/bus/directory.ts';
const post = 'src/core/cells/post.ts';
const loadPost = 'src/core/cells/load-post.ts';
const localContext = 'src/core/cells/local-context.ts';
const readMail = 'src/core/session/read-mail.ts';
const sendMail = 'src/core/session/send-mail.ts';
const endSpawned = 'src/core/session/end-spawned.ts';
const callTools = 'src/core/session/call-tools.ts';
const spawnAgent = 'src/core/orchestration/spawn-agent.ts';

const bug = (name: string, file: string, find: string, put: string): Bug => ({ name, edits: [{ file, find, put }] });

export const mailBugs: readonly Bug[] = [
  // Each message once, to its own reader, in order.
  bug(
    'a message is shown twice',
    readMail,
    "window.add({ rule: 'mail@1', of, with: [shownMax, nth] }, 'DIALOG');",
    "for (const _ of [1, 2]) window.add({ rule: 'mail@1', of, with: [shownMax, nth] }, 'DIALOG');",
  ),
  bug(
    'what is brought to a box twice is handed out twice',
    mailbox,
    'if (letter.seq <= this.#newest) return;',
    'void this.#newest;',
  ),
  bug(
    'mail that nobody had read is lost in a crash',
    loadPost,
    'if (letter !== null) directory.get(content.cell)?.box.put(letter);',
    'void [letter, directory];',
  ),
  bug(
    'mail leaves the box when a receive begins, not when it is recorded',
    loadPost,
    "if (record.type === 'begin' && record.do === 'receive') receives.add(`${cell}/${record.op}`);",
    "if (record.type === 'begin' && record.do === 'receive') { receives.add(`${cell}/${record.op}`); directory.get(cell)?.box.take({ box: 'any', max: 100 }); }",
  ),
  bug(
    'mail is for a name, and a namesake is given it',
    post,
    'this.directory.get(content.cell)?.box.put(letter);',
    'const named = this.directory.get(content.cell)?.name; [...this.directory.all].find(({ name }) => name === named)?.box.put(letter);',
  ),
  bug(
    'the newest of a sender’s messages comes first',
    mailbox,
    'const taken = there.filter((letter) => first.includes(letter) || more.includes(letter));',
    'const taken = there.filter((letter) => first.includes(letter) || more.includes(letter)).toReversed();',
  ),
  bug('who has ended can still be written to', directory, '    this.#members.delete(cell);\n', ''),
  bug(
    'subscriptions are forgotten in a crash',
    loadPost,
    'if (value.subscribed !== undefined && member !== undefined) directory.subscribe(member, value.subscribed);',
    '',
  ),

  // Boxes are bounded, and whoever waits is woken.
  bug(
    'a box takes any number of letters',
    mailbox,
    'return this.#letters.length < lettersMax && this.#bytes + bytes <= boxBytesMax;',
    'return this.#bytes + bytes <= boxBytesMax;',
  ),
  bug(
    'a box is full before it is',
    mailbox,
    'return this.#letters.length < lettersMax && this.#bytes + bytes <= boxBytesMax;',
    'return this.#letters.length < lettersMax / 2 && this.#bytes + bytes <= boxBytesMax;',
  ),
  bug(
    'what came while an agent was at work does not wake it',
    mailbox,
    `    this.#waiting = [...this.#waiting, waiting];
    this.#serve();`,
    `    this.#waiting = [...this.#waiting, waiting];
    if (this.#closing) this.#serve();`,
  ),
  bug(
    'an agent that waits does not hear that it should end',
    mailbox,
    '    this.#closing = true;\n    this.#serve();',
    '    this.#closing = true;',
  ),
  bug(
    'the end of a spawned agent is told to nobody',
    post,
    "this.directory.get(parent)?.box.put({ seq, kind: 'result', from: child, topic: null, bytes: 0 });",
    'void [parent, child, seq];',
  ),

  // Who writes, to whom, and after how many others.
  bug(
    'the sender is whoever the text says',
    sendMail,
    'agent_id: self.name,',
    'agent_id: /^Message from ([\\w.:-]+) /u.exec(text)?.[1] ?? self.name,',
  ),
  bug(
    'an answer reaches one that its agent may not write to',
    sendMail,
    "return kind === 'broadcast' || cell.home.host.post.directory.allows(selfIn(cell), to);",
    'return true;',
  ),
  bug('what was read by a tool does not count as a hop', readMail, '  countHops(session, seqs);\n};', '};'),

  // Spawning.
  bug(
    'an agent that is shut down twice at once is waited for once',
    callTools,
    'open.set(pending, [...(open.get(pending) ?? []), chain]);',
    'open.set(pending, [chain]);',
  ),
  bug(
    'a spawn counts once its turn is over: others of the turn are let through',
    callTools,
    'session.spawned = [...session.spawned, spawnedBy(pending as Pending<ChildOperation>, cell.home.now)];',
    'void Promise.resolve().then(() => (session.spawned = [...session.spawned, spawnedBy(pending as Pending<ChildOperation>, cell.home.now)]));',
  ),
  bug(
    'the spawns of a minute are counted after they are let through',
    spawnAgent,
    'session.spawnedAt = [...session.spawnedAt, home.now];',
    'void Promise.resolve().then(() => (session.spawnedAt = [...session.spawnedAt, home.now]));',
  ),
  bug(
    'the agent that was started last is left when its parent ends',
    endSpawned,
    'const known = session.spawned.flatMap(',
    'const known = session.spawned.slice(0, -1).flatMap(',
  ),
  bug(
    'a spawned agent is not stopped with its parent',
    localContext,
    'if (this.host.replaying === null) started.stop = stop;',
    'if (this.host.replaying === null && spawned === null) started.stop = stop;',
  ),
];
