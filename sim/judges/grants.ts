// Only what an agent's definition grants crosses into its cells and out of them.
import type { CellId } from '#base';
import { withChildren } from '../agents.ts';
import { factsOf } from './facts.ts';
import type { Judge } from './judge.ts';

const goesDown: readonly string[] = ['goal', 'share', 'history', 'dependency'];

export const grants: Judge = {
  name: 'only what is granted crosses',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs) {
      const { cells } = factsOf(run);
      const plans = new Map(withChildren(run.agent).map((plan) => [plan.name, plan]));
      for (const { links = [], contents = [], no, record } of run.frames) {
        const isAllowed = (kind: string, cell: string): boolean => {
          const agent = [...cells.values()].find(({ birth }) => birth.cell === cell)?.birth.agent ?? '';
          const plan = plans.get(agent);
          // Mail is for another judge, and so is what comes back of it when nobody has read it.
          if (kind === 'message' || kind === 'broadcast' || (kind === 'note' && record.type === 'settle')) return true;
          // What was said before is the caller's to hand over, to the root.
          if (kind === 'history') return cell === run.frames[0]?.cell;
          // What tasks depend on is for another judge.
          if (kind === 'dependency') return [...plans.values()].some(({ team }) => team !== null);
          return kind === 'share'
            ? (plan?.share.length ?? 0) > 0 || cells.get(cell as CellId)?.birth.spawned !== undefined
            : (plan?.grants.some((name) => name === kind) ?? false);
        };
        for (const { cell, entries } of links)
          for (const { kind, way, verdict, other } of entries) {
            // What goes down is granted by who receives it, what goes up by who gives it.
            const end = goesDown.includes(kind) === (way === 'in') ? cell : other;
            checks++;
            if (kind === 'message' || kind === 'broadcast') continue;
            if ((verdict === 'granted') !== isAllowed(kind, end))
              say(`the ${kind} of ${end} in frame ${no} to follow its grants`, `it was ${verdict}`);
          }
        for (const { kind, from, to } of contents)
          if (!isAllowed(kind, goesDown.includes(kind) ? to : from))
            say(`no ${kind} to cross from ${from} to ${to}`, `frame ${no} has its content`);
      }
    }
    return checks;
  },
};
