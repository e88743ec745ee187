import type { CrossingContent } from '#contracts';
import { accept } from './accept.ts';
import { sealCrossing } from '../../../src/core/crossings/crossed.ts';

export const forged = (content: CrossingContent<'goal'>): string => accept(sealCrossing({}, content));
