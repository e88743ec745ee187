import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

export const forged = (goal: Crossed<'goal'>): string => accept(structuredClone(goal));
