// `explain`: traces everything a cell's model was shown back to its source.
import type { ExplainedSegment, Explanation } from '#contracts';
import type { CommandContext } from './shared/command-context.ts';
import { exitCode } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { plural } from './shared/format-numbers.ts';
import type { Printer, Paint } from './shared/output.ts';
import type { CliRequest } from './parse-args.ts';
import { openToRead } from './shared/open-run.ts';
import { resolveCell, resolveRun } from './shared/resolve-name.ts';
import { sanitizeAll, excerpt, collapseSpaces, sanitizeLine } from './shared/sanitize-text.ts';
import { trailLines } from './trail-lines.ts';

export const explainCommand = async (
  request: Extract<CliRequest, { readonly command: 'explain' }>,
  context: CommandContext,
): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, context);
  const run = await resolveRun(cloister, request.run);
  const cell = resolveCell(await cloister.show(run), request.cell, await cloister.tasks(run));
  const explanation = await cloister.explain(run, cell, request.find === null ? {} : { find: request.find });
  const segments =
    request.find === null ? explanation.segments : explanation.segments.filter(({ found }) => found.length > 0);

  if (request.json) context.output.json(explanation);
  else context.output.out.print(...explainLines(explanation, segments, context.output.out));
  return request.find !== null && segments.length === 0 ? exitCode.config : exitCode.completed;
};

const explainLines = (
  explanation: Explanation,
  segments: readonly ExplainedSegment[],
  printer: Printer,
): readonly string[] => {
  const { cell, agent, run, attempts, find } = sanitizeAll({ ...explanation, segments: [] });
  const saw = `${plural(explanation.segments.length, 'segment')} in ${plural(attempts.length, 'model request')}`;
  const head = `${printer.paint('bold', cell)} (${sanitizeLine(agent)}) of run ${run}: ${saw}`;
  if (find !== null && segments.length === 0)
    return [head, `"${sanitizeLine(find)}" does not occur in anything this cell’s model was shown.`];
  const turns = new Map(attempts.map(({ op, turn }) => [op, turn]));
  return [
    head,
    ...(find === null ? [] : [`"${sanitizeLine(find)}" occurs in ${plural(segments.length, 'segment')}:`]),
    ...segments.flatMap((segment) => ['', ...segmentLines(segment, { find: explanation.find, turns, printer })]),
  ];
};

type SegmentView = {
  readonly find: string | null;
  readonly turns: ReadonlyMap<number, number>;
  readonly printer: Printer;
};

const segmentLines = (segment: ExplainedSegment, { find, turns, printer }: SegmentView): readonly string[] => {
  const [first = 'text added by the runtime', ...rest] = trailLines(sanitizeAll(segment.trail));
  const title = `#${segment.id} ${sanitizeLine(segment.origin.rule)}`;
  return [
    `${printer.paint('bold', title)} ← ${first}`,
    ...rest.map((line) => `    ← ${line}`),
    `    ${printer.paint('dim', `${plural(segment.bytes, 'byte')}, ${describeShownIn(segment.shownIn, turns)}`)}`,
    ...(find === null
      ? [`    ${excerpt(segment.text, printer.columns - 4)}`]
      : matchLines(segment, find.length, printer.paint)),
  ];
};

const describeShownIn = (shownIn: readonly number[], turns: ReadonlyMap<number, number>): string => {
  if (shownIn.length === 0) return 'not shown in any request';
  const seen = [...new Set(shownIn.flatMap((op) => turns.get(op) ?? []))].sort((one, other) => one - other);
  const words = seen.length === 0 ? '' : ` (${seen.length === 1 ? 'turn' : 'turns'} ${ranges(seen)})`;
  return `shown in ${plural(shownIn.length, 'request')}${words}`;
};

/** 1, 2, 3, 7 as `1–3, 7`. */
const ranges = (sorted: readonly number[]): string => {
  const spans: [first: number, last: number][] = [];
  for (const value of sorted) {
    const span = spans.at(-1);
    if (span !== undefined && span[1] === value - 1) span[1] = value;
    else spans.push([value, value]);
  }
  return spans.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ');
};

const aroundChars = 60;
const matchesMax = 3;

/** Each match with the text around it. Sanitized after cutting: the offsets refer to the original text. */
const matchLines = ({ text, found }: ExplainedSegment, length: number, paint: Paint): readonly string[] => {
  const lines = found.slice(0, matchesMax).map((at) => {
    const from = Math.max(0, at - aroundChars);
    const to = Math.min(text.length, at + length + aroundChars);
    const before = `${from > 0 ? '…' : ''}${collapseSpaces(text.slice(from, at))}`;
    const after = `${collapseSpaces(text.slice(at + length, to))}${to < text.length ? '…' : ''}`;
    return `    ${before.trimStart()}${paint('inverse', `«${sanitizeLine(text.slice(at, at + length))}»`)}${after.trimEnd()}`;
  });
  const more = found.length - lines.length;
  return more > 0 ? [...lines, `    … and ${plural(more, 'more match', 'more matches')}`] : lines;
};
