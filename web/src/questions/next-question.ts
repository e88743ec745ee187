// Q: the next question that waits, wherever it is.
import { address, go, select } from '../address.ts';
import { questions } from '../state.ts';
import { useKeys } from '../ui/keys.ts';

export const useNextQuestion = (): void => {
  useKeys(
    { q: { about: 'next question', hint: true, run: showNext } },
    questions.value.some(({ mayAnswer }) => mayAnswer),
  );
};

/** The one after that which was shown last; after the last, the first. */
const showNext = (): void => {
  const { page, run, question: shown } = address.peek();
  const waiting = questions.peek().filter(({ mayAnswer }) => mayAnswer);
  const next = waiting[(waiting.findIndex(({ id }) => id === shown) + 1) % waiting.length];
  if (next === undefined) return;
  if (next.id === shown) document.getElementById(next.id)?.focus();
  else if (page === 'questions' || next.cell === undefined) go({ page: 'questions', question: next.id });
  else if (next.run === run) select({ question: next.id });
  else go({ page: 'chat', run: next.run, question: next.id });
};
