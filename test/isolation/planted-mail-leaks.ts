// Leaks by mail: each an edit of the runtime that lets something private of one member show to another.
import type { Edit } from '../planted/plant.ts';

const sendMail = 'src/core/session/send-mail.ts';
const spawnAgent = 'src/core/orchestration/spawn-agent.ts';
const mailTools = 'src/core/orchestration/mail-tools.ts';
const reside = 'src/core/session/reside.ts';
const post = 'src/core/cells/post.ts';
const crossResult = 'src/core/cells/cross-result.ts';
const agentTool = 'src/core/orchestration/agent-tool.ts';

export type MailLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, file: string, find: string, put: string): MailLeak => ({
  name,
  edits: [{ file, find, put }],
});

export const mailLeaks: readonly MailLeak[] = [
  leak(
    'a message carries the size of its sender’s window',
    sendMail,
    'headed(head, text)',
    'headed(head, text + (cell.home.view?.view.length ?? 0))',
  ),
  leak(
    'ids of messages count what their sender has done',
    sendMail,
    'mail ${session.mails++}',
    'mail ${session.mails++} ${session.cell.steps}',
  ),
  leak(
    'an answer ends with what it cost',
    reside,
    'const text = hasAnswer ? output :',
    'const text = hasAnswer ? `${output} (${cell.home.account.spent(0).outputTokens})` :',
  ),
  leak(
    'the first message of a spawned agent ends with its parent’s thoughts',
    agentTool,
    'const { home } = cell;\n  const id = home.newCellId(agent.name, keep);',
    'const { home } = cell;\n  if (goal !== null) goal += JSON.stringify(home.view?.view.at(-1)).length;\n  const id = home.newCellId(agent.name, keep);',
  ),
  leak(
    'the list of spawned agents says how much they have done',
    spawnAgent,
    'sub_agent_id: as.name,\n        session_id',
    'sub_agent_id: as.name,\n        done: (home.host as any).living(pending.operation.cell)?.view?.view.length,\n        session_id',
  ),
  leak(
    'the end of a child says what it cost',
    crossResult,
    '...envelopeOf(outcome),',
    '...envelopeOf(outcome), output: `${outcome.output}${outcome.spent.outputTokens}`,',
  ),
  leak(
    'a refused message shows the instructions of the one that may not be written to',
    mailTools,
    'valueOf(refusal.notFound(name, looked), {',
    "valueOf({ ...refusal.notFound(name, looked), hint: JSON.stringify((cell.home.host as any).living?.(looked.hidden?.cell)?.agent.prompt ?? '') }, {",
  ),
  leak(
    'a note about what was not read shows the instructions of its reader',
    post,
    'was not read: it has ended.`',
    'was not read: it has ended. ${this.#homes.get(cell)?.agent.prompt}`',
  ),
];
