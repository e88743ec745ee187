import { accept } from './accept.ts';

export const forged = (text: string): string => accept(JSON.parse(text).goals[0]);
