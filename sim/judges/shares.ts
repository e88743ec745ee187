// A child that shares gets its caller's own prompt and context that its caller knows, and no other child gets anything.
import type { CellId } from '#base';
import type { SharedMessage, ShareName } from '#contracts';
import { withChildren } from '../agents.ts';
import type { RunHistory } from '../history.ts';
import type { Judge } from './judge.ts';

export const shares: Judge = {
  name: 'shares contain only what the caller knows',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs) {
      const plans = new Map(withChildren(run.agent).map((plan) => [plan.name, plan]));
      const known = new Map<CellId, readonly string[]>();
      const asked = new Map<string, readonly ShareName[]>();
      for (const { no, record, contents = [], definitions = [] } of run.frames) {
        const birth = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
        for (const { digest, definition } of definitions) asked.set(digest, definition.share ?? []);
        const planned = birth === undefined ? [] : (plans.get(birth.agent)?.share ?? []);
        // A spawn call may share more.
        const spawned = birth?.spawned === undefined ? planned : [...planned, ...(asked.get(birth.digest) ?? [])];
        // Whoever is started from outside gets nothing of the cell above.
        const share = record.type === 'begin' && record.op < 0 ? [] : spawned;
        // Another judge checks what a caller instructs its root.
        const crossed = contents.filter(({ kind, from }) => kind === 'share' && from !== 'outside');
        if (birth !== undefined && birth.parent !== null) {
          checks++;
          if (share.length > 0 !== crossed.some(({ cell }) => cell === birth.cell))
            report(`${birth.cell} to get ${share.join(' and ') || 'nothing'}`, `frame ${no} differs`);
        }
        for (const { cell, kind, content } of contents) if (kind === 'history') learn(known, cell, contextIn(content));
        for (const { cell, from, content } of crossed) {
          checks++;
          const messages = JSON.parse(content) as readonly SharedMessage[];
          const strange = messages.find(({ category, text }) =>
            category === 'SYSTEM'
              ? record.type !== 'begin' || !isPrompt(text, promptOf(run, from))
              : !isKnown(text, known.get(from as CellId) ?? []),
          );
          if (strange !== undefined) report(`${cell} to get only what ${from} knows`, strange.text.slice(0, 200));
          const twice = messages.find(({ text }) => known.get(cell)?.includes(text) === true);
          if (twice !== undefined) report(`${cell} to get each message once`, twice.text.slice(0, 200));
          learn(
            known,
            cell,
            messages.flatMap(({ category, text }) => (category === 'CONTEXT' ? [text] : [])),
          );
        }
      }
    }
    return checks;
  },
};

const learn = (known: Map<CellId, readonly string[]>, cell: CellId, texts: readonly string[]): void =>
  void known.set(cell, [...(known.get(cell) ?? []), ...texts]);

const contextIn = (content: string): readonly string[] =>
  (JSON.parse(content) as { entries: readonly { category: string; text: string }[] }).entries.flatMap(
    ({ category, text }) => (category === 'CONTEXT' ? [text] : []),
  );

/** Whether the text is the caller's prompt, without what the runtime adds to it. */
const isPrompt = (text: string, prompt: string): boolean =>
  prompt !== '' && text.startsWith(prompt) && !text.includes('\nYou are the agent "');

/** Whether the text is part of the caller's context, as is or framed as data. */
const isKnown = (text: string, known: readonly string[]): boolean =>
  known.some((one) => framed(text).includes(framed(one)));

const framed = (text: string): string => text.replace(/\n(?:\| )*/gu, '\n').trim();

const promptOf = ({ frames, agent }: RunHistory, cell: string): string => {
  const birth = frames.flatMap(({ record }) =>
    (record.type === 'open' || record.type === 'begin') && record.birth?.cell === cell ? [record.birth] : [],
  )[0];
  const plan = withChildren(agent).find(({ name }) => name === birth?.agent);
  // The prompt's variables are filled in, so only the text before them is compared.
  return plan?.prompt.split(' Today')[0] ?? '';
};
