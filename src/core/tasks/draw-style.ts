// The SVG document around every drawing: colours for light and dark mode, and a text description for screen readers.
import { statusStyles } from './draw-status.ts';
import type { Colours } from './draw-status.ts';
import { escapeXml } from './draw-text.ts';

type SvgPage = {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  readonly description: string;
  /** SVG elements. */
  readonly body: readonly string[];
};

export const svgDocument = ({ width, height, title, description, body }: SvgPage): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" class="task-graph" role="img" aria-labelledby="task-graph-title task-graph-text" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
    `<title id="task-graph-title">${escapeXml(title)}</title>`,
    `<desc id="task-graph-text">${escapeXml(description)}</desc>`,
    `<style>\n${styles}\n</style>`,
    `<rect class="page" width="${width}" height="${height}"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n');

type Theme = { readonly page: string; readonly text: string; readonly faint: string; readonly line: string };

const lightTheme: Theme = { page: '#ffffff', text: '#1b222c', faint: '#5b6675', line: '#93a0b0' };
const darkTheme: Theme = { page: '#0d1117', text: '#e4e9f0', faint: '#9aa6b5', line: '#5f6d7e' };

const themeRules = (
  theme: Theme,
  coloursOf: (look: (typeof statusStyles)[keyof typeof statusStyles]) => Colours,
): string[] => [
  `.task-graph .page{fill:${theme.page}}`,
  `.task-graph text{fill:${theme.text}}`,
  `.task-graph .faint{fill:${theme.faint}}`,
  `.task-graph .line{stroke:${theme.line}}`,
  `.task-graph .head{fill:${theme.line}}`,
  ...Object.entries(statusStyles).flatMap(([status, look]) => {
    const { fill, line, text } = coloursOf(look);
    return [
      `.task-graph .${status} .box{fill:${fill};stroke:${line}}`,
      `.task-graph .${status} .word{fill:${text}}`,
      `.task-graph .${status} .sign{stroke:${text}}`,
      `.task-graph .${status} .bar{fill:${line}}`,
    ];
  }),
];

const styles = [
  '.task-graph text{font-family:system-ui,sans-serif;font-size:11px}',
  '.task-graph .name{font-size:13px;font-weight:600}',
  '.task-graph .total{font-size:15px;font-weight:600}',
  '.task-graph .box{stroke-width:1.25}',
  '.task-graph .running .box{stroke-width:2.5}',
  ...Object.entries(statusStyles).flatMap(([status, { isDashed }]) =>
    isDashed === true ? [`.task-graph .${status} .box{stroke-dasharray:5 3}`] : [],
  ),
  '.task-graph .sign{fill:none;stroke-width:1.6;stroke-linecap:round;stroke-linejoin:round}',
  '.task-graph .line{fill:none;stroke-width:1.4}',
  ...themeRules(lightTheme, ({ light }) => light),
  '@media (prefers-color-scheme:dark){',
  ...themeRules(darkTheme, ({ dark }) => dark),
  '}',
].join('\n');
