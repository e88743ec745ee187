// The tools of an agent's sources: listed when its session starts, recorded, and from then on fixed.
//
//   L1. What the model is shown of a source is the recorded list; a replay shows the same without asking again.
//   L2. Only the tools that the definition names are shown or can be called.
import type { Failure } from '#base';
import type { PendingOperation, StepOperation } from '#contracts';
import type { ListedTool, SourceSession } from './source-session.ts';
import { plainTool } from './plain-tool.ts';
import type { Session } from './state.ts';

/** Null when the tools of all sources are in view; else why the session cannot start. */
export const listSourceTools = async (session: Session): Promise<Failure | null> => {
  const { cell, opened } = session;
  const pending = opened.map((source) => cell.runtime.begin(listStep(session, source)));
  for (let open: readonly PendingOperation<StepOperation>[] = pending; open.length > 0;) {
    const settled = await cell.runtime.first(open);
    cell.record(settled.no, settled.settled!);
    session.work.add(settled.settled!);
    open = open.filter((one) => one !== settled);
  }
  for (const [index, { no, settled }] of pending.entries()) {
    if (!settled!.ok) return settled!.failure;
    const failure = take(session, opened[index]!, no, settled!.value as unknown as readonly ListedTool[]);
    if (failure !== null) return failure;
  }
  return session.work.exhausted();
};

const take = (session: Session, source: SourceSession, no: number, listed: readonly ListedTool[]): Failure | null => {
  for (const [place, tool] of listed.entries()) {
    if (session.tools.has(tool.name))
      return { code: 'server_tools', detail: `"${tool.name}" (of ${source.name}) is there twice.` };
    session.tools.set(tool.name, plainTool(source.definition(tool)));
    session.window.add({ rule: 'listed-tool@1', of: [{ from: 'operation', no }], with: [place] }, 'SYSTEM');
  }
  return null;
};

const listStep = ({ cell, work }: Session, source: SourceSession): StepOperation => ({
  do: 'step',
  name: `tools:${source.name}`,
  repeat: 'free',
  timeoutMs: work.timeoutMs(cell.limits.toolTimeout),
  timeoutCode: 'tool_timeout',
  deadline: cell.deadline,
  lane: 'tools',
  work: async ({ signal }) => source.list(signal),
});
