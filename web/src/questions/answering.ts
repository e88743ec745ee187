// One person's answer to a question, on its way.
import { useRef, useState } from 'preact/hooks';
import type { CallerQuestion, CallerReceipt, QuestionAnswer } from '#contracts';
import type { SourceProblem } from '../source.ts';
import { announcement, readQuestions, source } from '../state.ts';

export type Answering = {
  /** What became of it: `ended` if somebody else was quicker. */
  readonly state: 'idle' | 'sending' | 'taken' | 'waiting' | 'ended';
  readonly problem: Error | null;
  /** How the question stands now, if it ended without this answer. */
  readonly now: CallerQuestion | null;
  readonly send: (answer: Omit<QuestionAnswer, 'sha256'>) => void;
};

const idle = { state: 'idle', problem: null, now: null } as const;

/** The same answer, sent again after a cut, is taken once: it keeps its key until another one is given. */
export const useAnswering = ({ id, sha256 }: Pick<CallerQuestion, 'id' | 'sha256'>): Answering => {
  const [known, setKnown] = useState<Omit<Answering, 'send'>>(idle);
  const last = useRef({ text: '', key: '' });
  const deliver = async (answer: Omit<QuestionAnswer, 'sha256'>): Promise<void> => {
    const body = { ...answer, sha256 };
    const text = JSON.stringify(body);
    if (last.current.text !== text) last.current = { text, key: crypto.randomUUID() };
    setKnown({ ...idle, state: 'sending' });
    const path = `/questions/${encodeURIComponent(id)}`;
    try {
      const { state } = await source.value.send<CallerReceipt>('POST', path, body, last.current.key);
      setKnown({ ...idle, state: state === 'waiting' ? 'waiting' : 'taken' });
      announcement.value = answer.allow ? 'Allowed' : 'Denied';
    } catch (error) {
      const isOver = ['question_answered', 'question_stale', 'question_unknown'].includes(
        (error as SourceProblem).code,
      );
      const now = isOver ? await source.value.get<CallerQuestion>(path).catch(() => null) : null;
      setKnown({ state: isOver ? 'ended' : 'idle', problem: now === null ? (error as Error) : null, now });
    }
    await readQuestions().catch(() => undefined);
  };
  return { ...known, send: (answer) => void deliver(answer) };
};
