// How drawings look: each task status as a word, a symbol and colours, each of which identifies it alone; and the SVG document around
// every drawing, with a text description for screen readers.
import type { TaskStatus } from '#contracts';
import { escapeXml } from './draw-text.ts';

/** The order in which a summary lists the statuses. */
export const statusOrder = [
  'completed',
  'running',
  'ready',
  'pending',
  'failed',
  'blocked',
  'skipped',
] as const satisfies readonly TaskStatus[];

type Colours = { readonly fill: string; readonly line: string; readonly text: string };

type StatusStyle = {
  /** An SVG path in a 12 × 12 square. */
  readonly sign: string;
  readonly light: Colours;
  readonly dark: Colours;
  readonly isDashed?: boolean;
};

const ring = 'M6 1.5a4.5 4.5 0 1 0 .01 0z';

export const statusStyles: Readonly<Record<TaskStatus, StatusStyle>> = {
  completed: {
    sign: 'M2 6.5l2.7 2.8L10 3',
    light: { fill: '#ecf7ee', line: '#2f8a43', text: '#1d6b30' },
    dark: { fill: '#12261a', line: '#3c9a55', text: '#74d08c' },
  },
  running: {
    sign: 'M3.5 2L10 6l-6.5 4z',
    light: { fill: '#e7f1fe', line: '#1f6fd1', text: '#12549f' },
    dark: { fill: '#10233d', line: '#4a90e2', text: '#8dbdf7' },
  },
  ready: {
    sign: ring,
    light: { fill: '#f2effc', line: '#7a62cc', text: '#5a41b0' },
    dark: { fill: '#201a36', line: '#8d77dd', text: '#bdaef5' },
  },
  pending: {
    sign: `${ring}M6 3.6v2.6l1.7 1.1`,
    light: { fill: '#f6f7f9', line: '#98a2b0', text: '#56606e' },
    dark: { fill: '#171c23', line: '#5b6675', text: '#a3aebc' },
  },
  failed: {
    sign: 'M2.5 2.5l7 7M9.5 2.5l-7 7',
    light: { fill: '#fdecec', line: '#cc3333', text: '#a81f1f' },
    dark: { fill: '#331416', line: '#df5454', text: '#ff9a9a' },
  },
  blocked: {
    sign: `${ring}M2.8 2.8l6.4 6.4`,
    light: { fill: '#fff5e6', line: '#c47a10', text: '#8a5300' },
    dark: { fill: '#2d210e', line: '#c98a2b', text: '#f0be6f' },
    isDashed: true,
  },
  skipped: {
    sign: 'M2 2.5L5.5 6 2 9.5M6.5 2.5L10 6 6.5 9.5',
    light: { fill: '#f8f8f8', line: '#a9a9ad', text: '#64646a' },
    dark: { fill: '#1a1a1c', line: '#606066', text: '#a8a8ae' },
    isDashed: true,
  },
};

/** The statuses that occur, each with its count. */
export const countStatuses = (
  tasks: readonly { readonly status: TaskStatus }[],
): readonly { readonly status: TaskStatus; readonly count: number }[] => {
  const groups = Map.groupBy(tasks, ({ status }) => status);
  return statusOrder.flatMap((status) => {
    const count = groups.get(status)?.length ?? 0;
    return count === 0 ? [] : [{ status, count }];
  });
};

export const formatTaskCount = (count: number): string => `${withCommas(count)} ${count === 1 ? 'task' : 'tasks'}`;

export const withCommas = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/gu, ',');

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
