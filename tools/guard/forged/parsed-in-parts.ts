import { accept } from './accept.ts';

export const forged = (text: string): string => {
  const { goal } = JSON.parse(text);
  return accept(goal);
};
