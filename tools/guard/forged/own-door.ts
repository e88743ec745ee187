import type { CellId } from '#base';
import type { Party } from '#core/crossings';
import { Door } from '#core/crossings';
import { accept } from './accept.ts';

export const forged = (party: Party, cell: CellId): string => {
  const door = new Door({ withdrawnFrom: () => [] });
  door.admit(party);
  const goal = door.cross({ kind: 'goal', from: 'outside', to: cell, content: 'Go' }, { at: 0, frame: 0 });
  return 'refused' in goal ? '' : accept(goal);
};
