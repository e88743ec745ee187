import type { Crossed } from '#contracts';
import { accept } from './accept.ts';

abstract class Forged extends (Object as unknown as abstract new () => Crossed<'goal'>) {}

export const forged = (made: Forged): string => accept(made);
