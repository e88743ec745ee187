// Draws a summary in place of a graph that is too large to read: how many tasks have which status.
import type { DrawableTask } from '#contracts';
import { countStatuses, statusStyles, formatTaskCount, withCommas } from './draw-status.ts';
import { svgDocument } from './draw-style.ts';
import { escapeXml } from './draw-text.ts';

const page = { width: 480, margin: 24, row: 26, top: 84, bars: 170 };

export const drawSummary = (tasks: readonly DrawableTask[], why: string): string => {
  const counts = countStatuses(tasks);
  const total = formatTaskCount(tasks.length);
  const rows = counts.map(({ status, count }, at) => {
    const wide = Math.max(2, Math.round(((page.width - page.margin - page.bars) * count) / tasks.length));
    return [
      `<g class="count ${status}" transform="translate(${page.margin} ${page.top + at * page.row})">`,
      `<path class="sign" transform="translate(0 -10)" d="${statusStyles[status].sign}"/>`,
      `<text class="word" x="18">${status}</text>`,
      `<text x="${page.bars - page.margin - 10}" text-anchor="end">${withCommas(count)}</text>`,
      `<rect class="bar" x="${page.bars - page.margin}" y="-10" width="${wide}" height="12" rx="3"/>`,
      '</g>',
    ].join('');
  });
  return svgDocument({
    width: page.width,
    height: page.top + counts.length * page.row + page.margin - 16,
    title: total,
    description: [...counts.map(({ status, count }) => `${withCommas(count)} ${status}`), why].join('; '),
    body: [
      `<text class="total" x="${page.margin}" y="36">${total}</text>`,
      `<text class="faint" x="${page.margin}" y="56">${escapeXml(why)}</text>`,
      ...rows,
    ],
  });
};
