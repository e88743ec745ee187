import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

export const forged = (text: string): string => {
  const goal: Crossed<'goal'> = JSON.parse(text);
  return accept(goal);
};
