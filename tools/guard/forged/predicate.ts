import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

const isGoal = (one: { readonly content: string }): one is Crossed<'goal'> => one.content !== '';

export const forged = (content: string): string => {
  const one = { content };
  return isGoal(one) ? accept(one) : '';
};
