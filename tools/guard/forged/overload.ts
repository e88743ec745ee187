import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

function made(content: string): Crossed<'goal'>;
function made(content: string): unknown {
  return { content };
}

export const forged = (content: string): string => accept(made(content));
