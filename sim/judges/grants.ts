// Only crossings that an agent's definition grants go into and out of its cells.
import type { CellId } from '#base';
import { withChildren } from '../agents.ts';
import { runFacts } from './facts.ts';
import type { Judge } from './judge.ts';

const goesDown: readonly string[] = ['goal', 'share', 'history', 'file', 'attachment', 'dependency', 'answer'];

export const grants: Judge = {
  name: 'only granted crossings happen',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const { cells } = runFacts(run);
      const plans = new Map(withChildren(run.agent).map((plan) => [plan.name, plan]));
      for (const { links = [], contents = [], no, record } of run.frames) {
        const isAllowed = (kind: string, cell: string): boolean => {
          const agent = [...cells.values()].find(({ birth }) => birth.cell === cell)?.birth.agent ?? '';
          const plan = plans.get(agent);
          // Other judges check mail, and notes about unread mail.
          if (kind === 'message' || kind === 'broadcast' || (kind === 'note' && record.type === 'settle')) return true;
          // The caller may give the history and the files of the conversation to the root.
          if (kind === 'history' || kind === 'file') return cell === run.frames[0]?.cell;
          // Files come with the goal, to the root.
          if (kind === 'attachment')
            return cell === run.frames[0]?.cell && record.type === 'open' && plan?.grants.includes('goal') === true;
          // Another judge checks what people answered.
          if (kind === 'answer') return record.type === 'ruling';
          // Another judge checks which results tasks get.
          if (kind === 'dependency') return [...plans.values()].some(({ team }) => team !== null);
          // The caller's own instructions, to the root that it called.
          if (kind === 'share' && cell === run.frames[0]?.cell) return record.type === 'open';
          return kind === 'share'
            ? (plan?.share.length ?? 0) > 0 || cells.get(cell as CellId)?.birth.spawned !== undefined
            : (plan?.grants.some((name) => name === kind) ?? false);
        };
        for (const { cell, entries } of links)
          for (const { kind, way, verdict, other } of entries) {
            // The receiver grants what goes down; the giver grants what goes up.
            const end = goesDown.includes(kind) === (way === 'in') ? cell : other;
            checks++;
            if (kind === 'message' || kind === 'broadcast') continue;
            if ((verdict === 'granted') !== isAllowed(kind, end))
              report(`the ${kind} of ${end} in frame ${no} to follow its grants`, `it was ${verdict}`);
          }
        for (const { kind, from, to } of contents)
          if (!isAllowed(kind, goesDown.includes(kind) ? to : from))
            report(`no ${kind} to cross from ${from} to ${to}`, `frame ${no} has its content`);
      }
    }
    return checks;
  },
};
