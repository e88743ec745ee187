import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

export const forged = (content: string): string => accept({ content } as unknown as Crossed<'goal'>);
