// Finds the files that a turn takes over: those that its agent's turn before, in the same conversation, left.
//
//   inherit-own-files. An agent takes over its own files only, whoever else takes turns in the conversation.
//   inherit-contents-first. The contents are in the store before any frame names them.
import { CloisterError, fromRecords } from '#base';
import type { InheritedFiles, Store, TurnRef } from '#contracts';
import { turnFiles } from '#core/audit';
import type { ConversationState } from './workspace-state.ts';
import { listTurns } from './entries.ts';

/** The turns of a conversation that count. */
type Line = Pick<ConversationState, 'newest' | 'branched'>;

/** Undefined when there are none. */
export const inheritFiles = async (line: Line, agent: string, store: Store): Promise<InheritedFiles | undefined> => {
  const turn = await newestTurn(line, agent, store);
  if (turn === undefined) return undefined;
  const { run, frames: count } = turn;
  const frames = (await store.read(run)).slice(0, count ?? undefined);
  const { files, outputs, contents } = await fromRecords(run, () => turnFiles(frames));
  if (files.length + outputs.length === 0) return undefined;
  // probe: inherit-contents
  await Promise.all([...contents.values()].map((text) => store.putBlob(Buffer.from(text))));
  return { run, frames: frames.length, files, outputs };
};

/** The newest turn of each agent that has any. */
export const newestTurns = async (line: Line, store: Store): Promise<readonly TurnRef[]> => {
  const agents = new Set([...listTurns(line), ...(line.branched?.turns ?? [])].map(({ agent }) => agent));
  const turns = await Promise.all([...agents].map((agent) => newestTurn(line, agent, store)));
  return turns.filter((turn) => turn !== undefined);
};

/** The newest turn of the agent that has frames: the process of a newer one may have died before it wrote any. */
const newestTurn = async (line: Line, agent: string, store: Store): Promise<TurnRef | undefined> => {
  for (const turn of agentTurns(line, agent)) if (await hasFrames(turn, store)) return turn;
  return undefined;
};

/** Newest first; each before the cut that it continues. */
function* agentTurns({ newest, branched }: Line, agent: string): Generator<TurnRef, void, undefined> {
  for (let node = newest; node !== null; node = node.previous) {
    const { run, from, frames } = node;
    // probe: turns-of-agent
    if (node.agent !== agent) continue;
    yield { agent, run, frames };
    if (from !== null) yield { agent, run: from.run, frames: from.frames };
  }
  yield* branched?.turns.filter((turn) => turn.agent === agent) ?? [];
}

const hasFrames = async ({ run, frames }: TurnRef, store: Store): Promise<boolean> => {
  try {
    return frames !== 0 && (await store.hashPrefix(run)).frames > 0;
  } catch (error) {
    if (error instanceof CloisterError && error.code === 'run_unknown') return false;
    throw error;
  }
};
