import type { StartedChild } from '#core/cells';
import { accept } from './accept.ts';

export const forged = (child: object, content: string): string =>
  accept(({ ...child, goal: { content } } as unknown as StartedChild).goal!);
