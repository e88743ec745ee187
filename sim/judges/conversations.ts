// Whoever takes a turn is told what was said before it: all of it that counts, once, in order, and nothing else.
import type { History, RunHistory } from '../history.ts';
import type { Judge } from './judge.ts';
import { keyOf, toldIn, turnsIn } from './conversation-turns.ts';
import type { Said } from './conversation-turns.ts';

export const conversations: Judge = {
  name: 'a turn is told what was said',
  look: (history, say) => {
    let checks = 0;
    if (history.book.pages.length === 0) return checks;
    for (const { run: id, conversation, before } of turnsIn(history)) {
      const run = history.runs.find((one) => one.run === id);
      if (run === undefined || run.frames.length === 0) continue;
      checks++;
      const open = run.frames[0]!.record;
      const named = open.type === 'open' ? open.conversation : undefined;
      if (named === undefined || keyOf(named) !== keyOf(conversation))
        say(`run ${id} to be of ${keyOf(conversation)}, as the book says`, named ? keyOf(named) : 'of none');
      const told = toldIn(run);
      const entries = told?.entries.slice(0, told.entries.length - (told.given ?? 0)) ?? [];
      const leftOut = told?.leftOut ?? 0;
      const due = newestOf(before, entries);
      if (words(due) !== words(entries) || before.length !== leftOut + entries.length)
        say(`run ${id} to be told ${words(due)}, and that ${before.length - due.length} are left out`, words(entries));
      if (leftOut > 0 && !isSmall(run)) say(`run ${id} to be told all of it`, `${leftOut} were left out`);
    }
    for (const { run, conversation, frames } of history.runs) {
      const open = frames[0]?.record;
      checks++;
      if (conversation !== null && frames.length > 0 && !hasPage(history, run))
        say(`run ${run} of ${keyOf(conversation)} in the book`, 'it has no page');
      if (open?.type === 'open' && open.conversation !== undefined && conversation === null)
        say(`run ${run} to be of no conversation`, keyOf(open.conversation));
    }
    return checks;
  },
};

const hasPage = ({ book: { pages } }: History, run: string): boolean =>
  pages.some(({ record }) => 'run' in record && record.run === run);

const words = (said: readonly Said[]): string =>
  said.map(({ agent, category, text }) => `${agent ?? 'person'} (${category}): ${text.slice(0, 100)}`).join(' | ');

/** Of each kind the newest, as many as were told, in order. */
const newestOf = (before: readonly Said[], told: readonly Said[]): readonly Said[] => {
  const left = new Map<string, number>();
  for (const { category } of told) left.set(category, (left.get(category) ?? 0) + 1);
  return before
    .toReversed()
    .filter(({ category }) => {
      const more = left.get(category) ?? 0;
      left.set(category, more - 1);
      return more > 0;
    })
    .toReversed();
};

/** Whether there is not room for everything. */
const isSmall = ({ agent }: RunHistory): boolean => agent.limits.contextTokensMax !== undefined;
