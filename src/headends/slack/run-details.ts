// A run in a dialog: what each cell used, what crossed, what was refused, and why something failed.
import type { JsonObject } from '#base';
import { describeCause } from '#contracts';
import type { CellReport, RunReport } from '#contracts';
import {
  applyEvent,
  compactNumber,
  crossingEndName,
  formatBytes,
  formatDuration,
  money,
  newRunView,
  plural,
} from '#headends/run-view';
import type { CrossingView, RunView } from '#headends/run-view';
import { actions, button, context, header, inPieces, modal, preformatted } from './blocks.ts';

/** Slack takes 100 blocks and about 250,000 characters a dialog. */
const piecesPerPage = 20;

export const detailsLoading: JsonObject = modal({ title: 'Details', blocks: [context('One moment…')] });

/** `value`: of its run, for the buttons to other pages. `page`: from 0; beyond the last one, it is the last one. */
export const detailsModal = (report: RunReport, value: string, page: number): JsonObject => {
  const pieces = inPieces(detailsText(report));
  const last = Math.max(0, Math.ceil(pieces.length / piecesPerPage) - 1);
  const at = Math.min(Math.max(0, page), last);
  const turn = (text: string, to: number): readonly JsonObject[] =>
    to < 0 || to > last ? [] : [button({ action: `cloister_page_${to}`, text, value })];
  const buttons = [...turn('Previous page', at - 1), ...turn('Next page', at + 1)];
  return modal({
    title: 'Details',
    blocks: [
      header(`${report.agent}: ${report.status}`),
      ...(last === 0 ? [] : [context(`Page ${at + 1} of ${last + 1}`)]),
      ...pieces.slice(at * piecesPerPage, (at + 1) * piecesPerPage).map(preformatted),
      ...(buttons.length === 0 ? [] : [actions(...buttons)]),
    ],
  });
};

const detailsText = (report: RunReport): string => {
  const view = newRunView();
  for (const event of report.events) applyEvent(view, event);
  const causes = report.causes.map((cause) => `- ${describeCause(cause)}`);
  return [
    'Cells: own / total with those below',
    ...report.cells.map(cellLine),
    '',
    `Crossings: ${plural(view.crossings.length, 'decision')}`,
    ...view.crossings.map((crossing) => crossingLine(view, crossing)),
    ...(causes.length === 0 ? [] : ['', 'Failures:', ...causes]),
  ].join('\n');
};

const cellLine = ({ agent, depth, status, own, spent, turns, models }: CellReport): string => {
  const tokens = (one: CellReport['own']): string => compactNumber(one.inputTokens + one.outputTokens);
  return [
    `${'  '.repeat(depth)}${agent}: ${status ?? 'running'}, ${plural(turns, 'turn')}`,
    `tokens ${tokens(own)} / ${tokens(spent)}`,
    `cost ${money(own.usd)} / ${money(spent.usd)}`,
    `time ${formatDuration(own.ms)} / ${formatDuration(spent.ms)}`,
    ...(models.length === 0 ? [] : [models.join(', ')]),
  ].join(' | ');
};

const crossingLine = (view: RunView, crossing: CrossingView): string => {
  const { kind, from, to, bytes, grant, refused } = crossing;
  const ends = `${crossingEndName(view, from)} -> ${crossingEndName(view, to)}`;
  const decision = refused === null ? `by ${grant}` : `REFUSED: ${refused}`;
  return `- ${ends}: ${kind}, ${formatBytes(bytes)}, ${decision}`;
};
