import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

export const forged = (goal: Crossed<'goal'>, content: string): string => accept(Object.assign({}, goal, { content }));
