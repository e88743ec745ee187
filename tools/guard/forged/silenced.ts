import { accept } from './accept.ts';

export const forged = (content: string): string =>
  // @ts-ignore
  accept({ content });
