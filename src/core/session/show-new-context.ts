// Adds new context to the cell's window: at creation, and before each request.
import type { Crossed, GivenTools } from '#contracts';
import { showReceived } from '#core/memory';
import { approvalMark } from '#core/rules';
import { approvedTool } from './approved-tool.ts';
import { clientTool } from './client-tool.ts';
import type { Session } from './state.ts';

export const showNewContext = (session: Session, when: 'at creation' | 'by now'): void => {
  const { cell, window } = session;
  const context = cell.runtime.received.addedContext(when);
  for (const crossing of context.slice(session.shownContextCount)) {
    // Notes about similar children have the same text, so each is shown once.
    if (crossing.kind === 'tools') showGivenTools(session, crossing);
    else if (crossing.kind !== 'note' || !session.shownNotes.includes(crossing.content))
      showReceived(window, crossing, cell.agent.name);
    if (crossing.kind === 'note') session.shownNotes = [...session.shownNotes, crossing.content];
  }
  session.shownContextCount = context.length;
};

/** Tools that the client brought while the run worked: the model may call them from its next request on. */
const showGivenTools = ({ cell, tools, window }: Session, { seq, content }: Crossed): void => {
  const given = JSON.parse(content) as GivenTools;
  for (const [index, schema] of given.tools.entries()) {
    // Sources may have listed a tool of that name meanwhile.
    if (tools.has(schema.name)) continue;
    const runner = clientTool(schema, given.timeoutMs);
    const { definition, permissions } = cell.agent;
    const mark = approvalMark(definition.approve, schema);
    // The operator marked it, and the definition does not say so, because the run began without it: it is not offered.
    if (mark === undefined && approvalMark(permissions.approve, schema) !== undefined) continue;
    tools.set(schema.name, mark === undefined ? runner : approvedTool(runner, mark));
    window.add({ rule: 'given-tool@1', of: [{ from: 'crossing', seq }], with: [index] }, 'SYSTEM');
  }
};
