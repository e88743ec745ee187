// Colours and fonts of the page, for a canvas.
import type { Ink, Measure, TextFont } from './texts.ts';

export type Theme = Readonly<
  Record<Ink | 'bg' | 'surface' | 'line' | 'wall' | 'selected' | 'bar' | 'pickedBar', string>
> & {
  readonly fonts: Readonly<Record<TextFont, string>>;
  readonly measure: Measure;
};

const tokens = [
  'bg',
  'surface',
  'line',
  'ink',
  'muted',
  'work',
  'goal',
  'result',
  'mail',
  'tool',
  'stop',
  'wall',
] as const;
const mostTexts = 20_000;

export const readTheme = (canvas: HTMLCanvasElement): Theme => {
  const context = canvas.getContext('2d')!;
  const style = getComputedStyle(canvas);
  /** As the canvas writes it, so that it is parsed once. */
  const parse = (color: string): string => {
    context.fillStyle = '#000';
    context.fillStyle = color;
    return context.fillStyle;
  };
  const read = (token: string): string => style.getPropertyValue(`--${token}`);
  const mixed = (token: string, percent: number): string =>
    parse(`color-mix(in srgb, ${read(token)} ${percent}%, ${read('surface')})`);
  const colors = Object.fromEntries(tokens.map((token) => [token, parse(read(token))])) as Record<
    (typeof tokens)[number],
    string
  >;
  const family = style.getPropertyValue('--font');
  const fonts = {
    label: `500 12px ${family}`,
    name: `600 13px ${family}`,
    second: `400 12px ${family}`,
    figure: `400 11px ${family}`,
  };
  return {
    ...colors,
    selected: mixed('goal', 7),
    bar: mixed('work', 30),
    pickedBar: mixed('goal', 30),
    fonts,
    measure: measureIn(context, fonts),
  };
};

const measureIn = (context: CanvasRenderingContext2D, fonts: Theme['fonts']): Measure => {
  const known = { label: new Map(), name: new Map(), second: new Map(), figure: new Map() } as Record<
    TextFont,
    Map<string, number>
  >;
  return (text, font) => {
    const found = known[font].get(text);
    if (found !== undefined) return found;
    if (known[font].size > mostTexts) known[font].clear();
    context.font = fonts[font];
    const { width } = context.measureText(text);
    known[font].set(text, width);
    return width;
  };
};
