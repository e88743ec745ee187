// The cells of a run as the ends of crossings.
import type { CellId, Hash } from '#base';
import type { Agent, AgentDefinition, Frame, TeamPart } from '#contracts';
import type { Door, Party } from '#core/crossings';

/** What is known of a cell before anything crosses into it. */
type PartySeed = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: Pick<Agent, 'name' | 'definition'>;
  /** Set if nobody waits for it. */
  readonly spawned?: unknown;
  readonly task?: TeamPart | undefined;
  /** Somebody outside asked for it, although it has a parent. */
  readonly byOutside?: boolean;
};

export const partyOf = ({ cell, parent, agent, spawned, task, byOutside = false }: PartySeed): Party => ({
  cell,
  parent,
  requestedBy: parent === null || byOutside ? 'outside' : parent,
  agent,
  spawned: spawned !== undefined && spawned !== null,
  part: task ?? null,
});

/** On resume: all live cells are ends at once, because one that continues early may write to one that has not come back. */
export const admitRecorded = (frames: readonly Frame[], door: Door): void => {
  const definitions = new Map<Hash, AgentDefinition>();
  for (const { record, definitions: added } of frames) {
    for (const { digest, definition } of added ?? []) definitions.set(digest, definition);
    const birth = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
    const definition = birth && definitions.get(birth.digest);
    if (definition !== undefined)
      door.admit(
        partyOf({
          ...birth!,
          agent: { name: birth!.agent, definition },
          byOutside: record.type === 'begin' && record.op < 0,
        }),
      );
    if (record.type === 'settle' && record.ended !== undefined) door.forget(record.ended.cell);
  }
};
