// Leaks by mail: each an edit of the runtime that lets something private of one member show to another.
import type { Edit } from '../planted/plant.ts';

export type MailLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, probe: string, put: string): MailLeak => ({ name, edits: [{ probe, put }] });

/** The same by way of the run, to which the port of a cell has no path: the leak opens one. */
const leakOfRun = (name: string, probe: string, put: string): MailLeak => ({
  name,
  edits: [
    { probe: 'port-run-side', put: '$(whole)\n  get run() { return this.#cell.run; }' },
    { probe, put },
  ],
});

/** Leaks to Bob of what others ask, or are answered by, the agent that he asks too. */
export const askerLeaks: readonly MailLeak[] = [
  leak('a piece of work is for all that wrote', 'mailbox-one-work', 'const $(declarations.0.id) = wanted;'),
  leak(
    'a message fetched during the work decides who gets its answer',
    'mail-read-asker',
    'session.asker = { from, id };',
  ),
  leak(
    'whoever waits for an answer also gets the one before',
    'answer-send',
    `$(whole)
  const { directory } = cell.run.mail;
  for (const { from } of directory.get(cell.cellId)?.mailbox.unread ?? []) {
    const reader = from === 'outside' ? undefined : directory.get(from);
    if (reader !== undefined) sendTo(cell, reader, { ...message, id: id + from }, at);
  }`,
  ),
  leak('the chain of another asker decides when a reader ends', 'mail-chain', 'return reads.at(-1)?.chain ?? id;'),
  // invariant: message-id-by-pair
  leak(
    'message ids count what their sender wrote to others',
    'mail-id',
    'const $(declarations.0.id) = `${session.cell.runtime.cellId} mail ${[...counts.values()].join()}`;',
  ),
];

/** Leaks of how full the window of a cell is, and of what its provider counted, to cells with small windows. */
export const windowLeaks: readonly MailLeak[] = [
  leak(
    'a share is taken from the caller’s view',
    'share-held',
    'const $(declarations.0.id) = shareableContext(window.context.filter((one) => window.view.includes(one)), agent.permissions.share);',
  ),
  leakOfRun(
    'tokens per byte are learnt over all cells',
    'window-tokens-per-byte',
    `$(key): ((session.cell.runtime as any).run.planted = Math.max(
    (session.cell.runtime as any).run.planted ?? 0, $(value.left) ?? 0)) || $(value.right)`,
  ),
  leakOfRun(
    'a cell that has no count of its own yet estimates by the count of another',
    'window-tokens-per-byte',
    `$(key): ((session.cell.runtime as any).run.planted = $(value.left) ??
    (session.cell.runtime as any).run.planted) ?? $(value.right)`,
  ),
];

/** Leaks to the caller of an agent of what agents that it spawned write, and to strangers of who was spawned. */
export const spawnedLeaks: readonly MailLeak[] = [
  leak('the words of spawned agents cross to their parent’s parent', 'envelope-spawned', 'const named = spawned;'),
  leak(
    'a parent’s parent hears of agents whose words their parent has not read',
    'envelope-spawned',
    'const named = spawned.map(({ agent, status }) => ({ agent, status }));',
  ),
  leak(
    'agents forget who has ended when somebody outside starts an agent, anywhere in the run',
    'outside-spawn-rules',
    '$(whole)\n  for (const one of parent.run.mail.directory.all) one.ended.length = 0;',
  ),
];

export const mailLeaks: readonly MailLeak[] = [
  leak(
    'the instructions of the caller, with the answers of the root',
    'answer-text',
    `$(whole) + session.window.view.map(({ origin, part }) =>
      origin.rule === 'shared-system@1' && 'message' in part ? String(part.message.content) : '').join('')`,
  ),
  {
    name: 'unread mail is handed to the next cell of that name',
    edits: [
      // Nobody notices that it never crossed into its reader.
      { probe: 'ledger-check-crossed', put: '' },
      {
        probe: 'mailbox-put-again',
        put: '$(whole)\n    ((this as any).planted ??= new Map()).set(message.seq, crossed);',
      },
      {
        probe: 'directory-remove-member',
        put: `$(whole)
    const left = member.mailbox.unread.map(({ seq }) => (member.mailbox as any).planted.get(seq));
    ((this as any).planted ??= new Map()).set(member.agent, left.filter(({ kind }) => kind !== 'result'));`,
      },
      {
        probe: 'directory-add-member',
        // Before its own mail, whose numbers begin with 0.
        put: `$(whole)
    const left = ((this as any).planted?.get(entry.agent) ?? []).map((one: any, no: number) =>
      ({ ...one, cell: entry.cell, to: entry.cell, seq: no / 1_000 - 0.5 }));
    (this as any).planted?.delete(entry.agent);
    (member as any).planted = left;
    for (const one of left) member.mailbox.put(one);`,
      },
      {
        probe: 'mail-register',
        put: `$(whole)
    for (const one of (this.directory.get(cellId) as any)?.planted ?? []) address.receivedCrossings.addMail(one, 0);`,
      },
    ],
  },
  {
    name: 'an agent is told that another has ended that it may not write to',
    edits: [
      { probe: 'directory-ended-to', put: 'this.#members.values()' },
      { probe: 'directory-ended-may', put: '' },
      {
        probe: 'directory-was-reachable',
        put: 'const $(declarations.0.id) = requester.ended.some((other) => hasName(other, requester, name));',
      },
    ],
  },
  // invariant: mail-tells-reachable-names
  leak(
    'a refusal lists the names of all agents',
    'directory-reachable',
    'const $(declarations.0.id) = [...this.#members.values()];',
  ),
  // invariant: publisher-learns-nobody
  leak(
    'a publisher is told how many heard',
    'publish-reply',
    '{ ...$(whole), messages: directory.subscribersOf(topic).length }',
  ),
  leakOfRun(
    'the number of agents at a time is limited for the whole run',
    'spawn-live',
    'const $(declarations.0.id) = [...(runtime as any).run.mail.directory.all].length - 1;',
  ),
  leakOfRun(
    'the rate of spawns is limited for the whole run',
    'spawn-recent',
    'const $(declarations.0.id) = [...(runtime as any).run.mail.directory.all].filter(({ createdAt }) => createdAt > now - 60_000);',
  ),
  leak(
    'a message carries the size of its sender’s window',
    'mail-text',
    '$(whole) + ((cell as any).shown?.view.length ?? 0)',
  ),
  // invariant: message-id-by-pair
  leak(
    'message ids count the steps of their sender',
    'mail-id',
    'const $(declarations.0.id) = $(declarations.0.init) + ` ${session.cell.steps}`;',
  ),
  leak('an answer ends with its cost', 'answer-text', '`${$(whole)} (${session.cell.runtime.spent.outputTokens})`'),
  leak(
    'the first message of a spawned agent ends with its parent’s latest segment',
    'child-goal-crossing',
    'const { length } = JSON.stringify((caller as any).shown?.view.at(-1) ?? null);\n  if (request.goal !== null) request = { ...request, goal: request.goal + length };\n  $(whole)',
  ),
  leak(
    'the list of spawned agents shows how much they have done',
    'spawned-listed',
    '$(whole), done: (run as any).getLiveCell(pending.operation.cell)?.shown?.view.length',
  ),
  leak(
    'the result of a child shows its cost',
    'child-envelope',
    '$(whole), output: `${outcome.output}${outcome.spent.outputTokens}`',
  ),
  leak(
    'a refused message shows the instructions of its recipient',
    'mail-not-found',
    "{ ...$(whole), hint: JSON.stringify((cell.run as any).getLiveCell?.(lookup.hidden?.cell)?.agent.prompt ?? '') }",
  ),
  leak(
    'a note about unread mail shows the instructions of its recipient',
    'post-unread-note',
    'const $(declarations.0.id) = $(declarations.0.init) + ` ${this.#addresses.get(cell)?.agent.prompt}`;',
  ),
  leak(
    'an agent forgets who has ended when enough agents of others have',
    'directory-note-ended',
    `$(whole)
      const run = this as unknown as { ended?: number };
      run.ended = (run.ended ?? 0) + 1;
      if (run.ended > endedMax) for (const one of this.#members.values()) one.ended.shift();`,
  ),
  leak(
    'a mailbox is full when others have written enough',
    'mailbox-of-sender',
    'const $(declarations.0.id) = this.#messages;',
  ),
  leak(
    'a message from outside shows which of its guesses is the password of the root',
    'mail-redact-for',
    '[...run.mail.directory.all].map((one) => run.mail.agentOf(one.cell))[0] ?? null',
  ),
  leak(
    'all cells of a run redact the password of the first one',
    'redact-for-cell',
    'return ((this as any).planted ??= $(argument));',
  ),
];
