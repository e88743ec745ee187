// Texts on the canvas: how wide they are, and where there is room for them.
import { formatBytes } from '#headends/run-view';
import type { CrossingView } from '#headends/run-view';

/** `label`: on arrows. `name`: of a room. `second`: beside it. `figure`: in bars and on the axis. */
export type TextFont = 'label' | 'name' | 'second' | 'figure';

/** The width of a text in pixels. */
export type Measure = (text: string, font: TextFont) => number;

/** A token of the page's colours. */
export type Ink = 'ink' | 'muted' | 'work' | 'goal' | 'result' | 'mail' | 'tool' | 'stop';

/** `x`: its left side. `y`: its middle. */
export type PlacedText = {
  readonly text: string;
  readonly font: TextFont;
  readonly ink: Ink;
  readonly x: number;
  readonly y: number;
  readonly width: number;
};

/** Half the height of a line of text. */
export const halfLine = 7;

/** Colour by the kind of content; a refused crossing has the colour of its state. */
export const crossingInk = ({ kind, refused }: Pick<CrossingView, 'kind' | 'refused'>): Ink => {
  if (refused !== null) return 'stop';
  switch (kind) {
    case 'goal':
    case 'share':
    case 'history':
    case 'file':
    case 'attachment':
      return 'goal';
    case 'result':
    case 'answer':
      return 'result';
    case 'message':
    case 'broadcast':
    case 'dependency':
    case 'note':
      return 'mail';
    case 'tools':
      return 'tool';
  }
};

/** From the longest to the shortest. */
export const crossingTexts = ({ kind, bytes, refused }: CrossingView): readonly [string, string] => {
  const size = `${formatBytes(bytes)}${refused === null ? '' : ' refused'}`;
  return [`${kind} ${size}`, size];
};

/** A tool of a server is `server/tool` for people. */
export const toolText = (tool: string): string => tool.replace('__', '/');

/** Cut with … to the given width; '' if not even the first letter fits. */
export const cutText = (text: string, font: TextFont, width: number, measure: Measure): string => {
  if (measure(text, font) <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (measure(`${text.slice(0, middle)}…`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? '' : `${text.slice(0, low)}…`;
};
