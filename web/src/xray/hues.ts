// Colours and names that crossings and parts of prompts share.
import type { CrossingEnd, CrossingKind } from '#contracts';

/** The colours that say what kind of content something is; `file`: what an agent file or the runtime says. */
export type Hue = 'file' | 'goal' | 'result' | 'mail' | 'work' | 'tool';

/** The name of a room; `you` for the outside. */
export type NameOf = (end: CrossingEnd) => string;

const crossingHues: Readonly<Record<CrossingKind, Hue>> = {
  goal: 'goal',
  result: 'result',
  answer: 'result',
  message: 'mail',
  broadcast: 'mail',
  dependency: 'mail',
  note: 'mail',
  share: 'goal',
  file: 'goal',
  attachment: 'goal',
  tools: 'tool',
  history: 'goal',
};

export const crossingHue = (kind: CrossingKind): Hue => crossingHues[kind] ?? 'goal';

/** `notes__internals` is the tool internals of the server notes. */
export const toolTitle = (name: string): string => name.replace('__', '/');
