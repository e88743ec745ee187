// Lists the tools of an agent's tool sources when its session starts. The list is recorded and fixed from then on.
//
//   tools-as-listed. The model is shown the recorded list, so a replay shows the same without asking the source again.
//   tools-named-only. Only tools that the definition names are shown or can be called.
import type { Failure } from '#base';
import type { PendingOperation, StepOperation } from '#contracts';
import type { ListedTool, SourceSession } from './source-session.ts';
import { approvalMark } from '#core/rules';
import { approvedTool } from './approved-tool.ts';
import { plainTool } from './plain-tool.ts';
import type { Session } from './state.ts';

/** Null when the tools of all sources are in the window; otherwise why the session cannot start. */
export const listSourceTools = async (session: Session): Promise<Failure | null> => {
  const { cell, sources } = session;
  const pending = sources.map((source) => cell.runtime.begin(listStep(session, source)));
  for (let unsettled: readonly PendingOperation<StepOperation>[] = pending; unsettled.length > 0;) {
    const settled = await cell.runtime.first(unsettled);
    cell.record(settled.no, settled.settled!);
    session.workClock.add(settled.settled!);
    unsettled = unsettled.filter((one) => one !== settled);
  }
  for (const [index, { no, settled }] of pending.entries()) {
    if (!settled!.ok) return settled!.failure;
    const failure = addTools(session, sources[index]!, no, settled!.value as unknown as readonly ListedTool[]);
    if (failure !== null) return failure;
  }
  return session.workClock.limitReached();
};

const addTools = (
  session: Session,
  source: SourceSession,
  no: number,
  listed: readonly ListedTool[],
): Failure | null => {
  for (const [index, tool] of listed.entries()) {
    if (session.tools.has(tool.name))
      return { code: 'server_tools', detail: `Two tools are named "${tool.name}"; one is from ${source.name}.` };
    const marked = approvalMark(session.cell.agent.definition.approve, { ...tool, source: source.name });
    const mark = marked ?? (tool.approve === true ? {} : undefined);
    const runner = plainTool(source.definition(tool));
    session.tools.set(tool.name, mark === undefined ? runner : approvedTool(runner, mark));
    session.window.add({ rule: 'listed-tool@1', of: [{ from: 'operation', no }], with: [index] }, 'SYSTEM');
  }
  return null;
};

const listStep = ({ cell, workClock }: Session, source: SourceSession): StepOperation => ({
  do: 'step',
  name: `tools:${source.name}`,
  repeat: 'free',
  timeoutMs: workClock.timeoutMs(cell.limits.toolTimeout),
  timeoutCode: 'tool_timeout',
  deadline: cell.runtime.deadline,
  lane: 'tools',
  work: async ({ signal }) => source.list(signal),
});
