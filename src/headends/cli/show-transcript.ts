// Formats a transcript: where each text comes from in the margin, the text beside it.
import type {
  QuestionReport,
  ShownPart,
  Transcript,
  TranscriptCell,
  TranscriptEntry,
  TranscriptResult,
} from '#contracts';
import { clockTime, formatDuration, plural } from '#headends/run-view';
import type { Screen, Style } from './shared/output.ts';
import { padEnd, sanitizeLine, truncateColumns, width, wrapLines, wrapText } from './shared/sanitize-text.ts';
import { cellsInTreeOrder, rowText, stateMark } from './shared/tree.ts';

type TranscriptView = {
  readonly full: boolean;
  readonly workspace: string;
  /** Those that wait for people. */
  readonly questions: readonly QuestionReport[];
  readonly screen: Screen;
};

/** The transcript must be sanitized. */
export const transcriptLines = (transcript: Transcript, view: TranscriptView): readonly string[] => {
  const cells = cellsInTreeOrder(transcript.cells).map(({ node }) => node);
  return cells.flatMap((cell, index) => [...(index === 0 ? [] : ['']), ...cellLines(cell, view)]);
};

const cellLines = (cell: TranscriptCell, view: TranscriptView): readonly string[] => {
  const { paint, columns } = view.screen;
  const name = cell.cell.startsWith(cell.agent) ? cell.cell : `${cell.cell} ${rowText(cell.agent)}`;
  const ended = cell.status ?? 'unfinished';
  const took = cell.ms === null ? '' : `, ${formatDuration(cell.ms)}`;
  return [
    paint('bold', truncateColumns(`${stateMark(cell.status ?? 'interrupted')} ${name}  ${ended}${took}`, columns)),
    ...(cell.entries.length === 0 ? beside('goal', cell.goal, view, 'dim') : []),
    ...cell.entries.flatMap((entry, index) => [
      ...(index === 0 ? [] : ['']),
      ...entryLines(entry, cell.entries.slice(0, index), view),
    ]),
    ...view.questions
      .filter((question) => question.cell === cell.cell)
      .flatMap(({ id, tool }) => beside('waits', `for a person: ${tool} (${id})`, view, 'yellow')),
    ...endLines(cell, view),
  ];
};

const entryLines = (
  entry: TranscriptEntry,
  before: readonly TranscriptEntry[],
  view: TranscriptView,
): readonly string[] => {
  const { paint, columns } = view.screen;
  const facts = [
    `turn ${entry.turn}`,
    ...(entry.attempt === 1 ? [] : [`retry ${entry.attempt - 1}`]),
    sanitizeLine(entry.model),
    clockTime(entry.at),
    ...(entry.ms === null ? ['unfinished'] : [formatDuration(entry.ms)]),
  ];
  const isNews = (part: ShownPart): boolean => view.full || !isToldAlready(part, before);
  const removed =
    entry.removed === 0 ? [] : beside('removed', `${plural(entry.removed, 'part')} of the prompt before`, view, 'dim');
  return [
    paint('bold', truncateColumns(`  ${facts.join(' · ')}`, columns)),
    ...removed,
    ...entry.shown.filter(isNews).flatMap((part) => beside(part.origin, shownText(part, view), view, 'dim')),
    ...saidLines(entry, view),
    ...(entry.error === null ? [] : beside('failed', errorText(entry.error), view, 'red')),
  ];
};

/** Each call with its result; then what a call started that was not called by its own name, such as the agents of a `gather`. */
const saidLines = ({ said, results }: TranscriptEntry, view: TranscriptView): readonly string[] => {
  const rest = [...results];
  const lines = said.flatMap((part) => {
    if (part.type !== 'call')
      return part.type === 'text' ? beside('says', part.text, view, 'green') : beside('thinks', part.text, view, 'dim');
    const index = rest.findIndex(({ tool, args }) => tool === part.tool && args === part.args);
    const [result] = index < 0 ? [] : rest.splice(index, 1);
    return result === undefined ? beside(`calls ${part.tool}`, part.args, view, 'cyan') : resultLines(result, view);
  });
  return [...lines, ...rest.flatMap((result) => resultLines(result, view))];
};

/** What the model is shown again of its own words, and of results that stand below its calls. */
const isToldAlready = ({ rule, op }: ShownPart, before: readonly TranscriptEntry[]): boolean => {
  if (op === undefined || rule.startsWith('shorten@')) return false;
  if (rule.startsWith('reply@')) return before.some((entry) => entry.op === op);
  const result = before.flatMap(({ results }) => results).find((one) => one.op === op);
  return result !== undefined && ((result.result ?? '') !== '' || result.error !== null);
};

/** A tool is told by its description, and a file by the beginning of its hash. The rest is in the whole prompt. */
const shownText = ({ rule, text }: ShownPart, { full }: TranscriptView): string => {
  if (full) return text;
  if (rule.startsWith('attachment@')) return text.replace(/\(file ([0-9a-f]{12})[0-9a-f]{52}\)$/u, '(file $1…)');
  if (!/^(?:listed-)?tool@/u.test(rule)) return text;
  try {
    return (JSON.parse(text) as { readonly description?: string }).description ?? text;
  } catch {
    return text;
  }
};

const resultLines = (result: TranscriptResult, view: TranscriptView): readonly string[] => {
  const { tool, child, args, error, ms } = result;
  const took = ms === null ? '' : ` (${formatDuration(ms)})`;
  const text = resultText(result);
  return [
    ...beside(`${child === undefined ? 'calls' : 'asks'} ${tool}`, args, view, 'cyan'),
    ...(child === undefined ? [] : beside('  cell', child, view, 'dim')),
    ...(text === null ? [] : beside(`  result${took}`, text, view, 'cyan')),
    ...(error === null ? [] : beside(`  failed${took}`, errorText(error), view, 'red')),
    ...(text === null && error === null && ms === null ? beside('  result', 'none yet', view, 'dim') : []),
  ];
};

const resultText = ({ result, output }: TranscriptResult): string | null => {
  if (output === undefined) return result;
  if (output.text === null) return `${result ?? ''}\n[The stored output ${output.name} is missing.]`;
  return output.whole ? output.text : `${output.text}\n[… ${plural(output.bytes, 'byte')} in all: see --full]`;
};

const endLines = ({ status, error, output, entries }: TranscriptCell, view: TranscriptView): readonly string[] => {
  const said = entries.at(-1)?.said.map((part) => (part.type === 'text' ? part.text : '')) ?? [];
  const isSaid = said.join('').trim() === output.trim();
  const failed = entries.at(-1)?.error ?? null;
  const isTold = failed !== null && error !== null && errorText(failed) === errorText(error);
  return [
    ...(output === '' || isSaid ? [] : beside('answer', output, view, 'green')),
    ...(status === null || error === null || isTold ? [] : beside(status, errorText(error), view, 'red')),
  ];
};

const errorText = ({ summary, detail, code }: NonNullable<TranscriptEntry['error']>): string =>
  `${summary}${detail === undefined ? '' : ` ${detail}`} (${code})`;

const [marginMin, marginMax, textMin] = [14, 34, 30];

/** A note in the margin, and a text beside it; on a narrow screen, below it. */
const beside = (note: string, text: string, { screen }: TranscriptView, style: Style): readonly string[] => {
  const { paint, columns } = screen;
  const margin = Math.min(marginMax, Math.max(marginMin, Math.floor(columns / 4)));
  const room = columns - margin - 5;
  if (room < textMin)
    return [
      ...wrapText('  ', note, columns, 4).map((line) => paint(style, line)),
      ...wrapLines(text, columns - 4).map((line) => `    ${line}`.trimEnd()),
    ];
  const indent = note.length - note.trimStart().length;
  const notes = wrapText(' '.repeat(indent), note.trimStart(), margin, indent + 1);
  const texts = wrapLines(text, room);
  // A name that is longer than the margin is neither cut nor broken: the text begins below it.
  const isWide = notes.some((line) => width(line) > margin);
  const above = isWide ? notes.map((line) => `  ${paint(style, line)}`) : [];
  const left = isWide ? [] : notes;
  const rows = Array.from({ length: Math.max(left.length, texts.length) }, (_, index) => {
    const padded = padEnd(left[index] ?? '', margin);
    return `  ${paint(style, padded)} ${paint('dim', '│')} ${texts[index] ?? ''}`.trimEnd();
  });
  return [...above, ...rows];
};
