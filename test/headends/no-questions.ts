// For services whose tests ask nobody.
import { CloisterError } from '#base';
import type { CallerQuestions } from '#contracts';

export const noQuestions: CallerQuestions = {
  list: async () => [],
  find: () => Promise.reject(new CloisterError('question_unknown')),
  answer: () => Promise.reject(new CloisterError('question_unknown')),
  followRun: () => Promise.reject(new CloisterError('run_unknown')),
};
