// Leaks by mail: each an edit of the runtime that lets something private of one member show to another.
import type { Edit } from '../planted/plant.ts';

export type MailLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, probe: string, put: string): MailLeak => ({ name, edits: [{ probe, put }] });

export const mailLeaks: readonly MailLeak[] = [
  leak(
    'a message carries the size of its sender’s window',
    'mail-text',
    '$(whole) + (cell.runtime.view?.view.length ?? 0)',
  ),
  leak('ids of messages count what their sender has done', 'mail-id', '$(whole) + ` ${session.cell.steps}`'),
  leak(
    'an answer ends with what it cost',
    'answer-text',
    '`${$(whole)} (${cell.runtime.account.spent(0).outputTokens})`',
  ),
  leak(
    'the first message of a spawned agent ends with its parent’s thoughts',
    'child-goal-crossing',
    'if (goal !== null) goal += JSON.stringify(runtime.view?.view.at(-1)).length;\n  $(whole)',
  ),
  leak(
    'the list of spawned agents says how much they have done',
    'spawned-listed',
    '$(whole), done: (runtime.liveRun as any).living(pending.operation.cell)?.view?.view.length',
  ),
  leak(
    'the end of a child says what it cost',
    'child-envelope',
    '$(whole), output: `${outcome.output}${outcome.spent.outputTokens}`',
  ),
  leak(
    'a refused message shows the instructions of the one that may not be written to',
    'mail-not-found',
    "{ ...$(whole), hint: JSON.stringify((cell.runtime.liveRun as any).living?.(looked.hidden?.cell)?.agent.prompt ?? '') }",
  ),
  leak(
    'a note about what was not read shows the instructions of its reader',
    'post-unread-note',
    'const $(declarations.0.id) = $(declarations.0.init) + ` ${this.#homes.get(cell)?.agent.prompt}`;',
  ),
];
