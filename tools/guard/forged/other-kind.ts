import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

export const forged = (result: Crossed): string => accept(result as Crossed<'goal'>);
