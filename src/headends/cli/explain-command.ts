// `explain`: where everything that a cell's model saw came from.
import type { ExplainedSegment, Explanation } from '#contracts';
import type { CommandContext } from './command-context.ts';
import { exitCode } from './exit-code.ts';
import type { ExitCode } from './exit-code.ts';
import { plural } from './format-numbers.ts';
import type { Page, Paint } from './output.ts';
import type { CliRequest } from './parse-args.ts';
import { openToRead } from './open-to-read.ts';
import { resolveCell, resolveRun } from './resolve-name.ts';
import { sanitizeAll, excerpt, flat, sanitizeLine } from './sanitize-text.ts';
import { trailLines } from './trail-lines.ts';

export const explainCommand = async (
  request: Extract<CliRequest, { readonly command: 'explain' }>,
  desk: CommandContext,
): Promise<ExitCode> => {
  await using cloister = await openToRead(request.workspace, desk);
  const run = await resolveRun(cloister, request.run);
  const cell = resolveCell(await cloister.show(run), request.cell, await cloister.tasks(run));
  const explanation = await cloister.explain(run, cell, request.find === null ? {} : { find: request.find });
  const segments =
    request.find === null ? explanation.segments : explanation.segments.filter(({ found }) => found.length > 0);

  if (request.json) desk.output.json(explanation);
  else desk.output.out.print(...explainLines(explanation, segments, desk.output.out));
  return request.find !== null && segments.length === 0 ? exitCode.config : exitCode.completed;
};

const explainLines = (
  explanation: Explanation,
  segments: readonly ExplainedSegment[],
  page: Page,
): readonly string[] => {
  const { cell, agent, run, attempts, find } = sanitizeAll({ ...explanation, segments: [] });
  const saw = `${plural(explanation.segments.length, 'segment')} in ${plural(attempts.length, 'request')} to a model`;
  const head = `${page.paint('bold', cell)} (${sanitizeLine(agent)}) of run ${run}: ${saw}`;
  if (find !== null && segments.length === 0)
    return [head, `"${sanitizeLine(find)}" is in nothing that this cell’s model saw.`];
  const turns = new Map(attempts.map(({ op, turn }) => [op, turn]));
  return [
    head,
    ...(find === null ? [] : [`"${sanitizeLine(find)}" is in ${plural(segments.length, 'segment')}:`]),
    ...segments.flatMap((segment) => ['', ...segmentLines(segment, { find: explanation.find, turns, page })]),
  ];
};

type Shown = { readonly find: string | null; readonly turns: ReadonlyMap<number, number>; readonly page: Page };

const segmentLines = (segment: ExplainedSegment, { find, turns, page }: Shown): readonly string[] => {
  const [first = 'the runtime’s own words', ...rest] = trailLines(sanitizeAll(segment.trail));
  const title = `#${segment.id} ${sanitizeLine(segment.origin.rule)}`;
  return [
    `${page.paint('bold', title)} ← ${first}`,
    ...rest.map((line) => `    ← ${line}`),
    `    ${page.paint('dim', `${plural(segment.bytes, 'byte')}, ${shownWords(segment.shownIn, turns)}`)}`,
    ...(find === null
      ? [`    ${excerpt(segment.text, page.columns - 4)}`]
      : spotLines(segment, find.length, page.paint)),
  ];
};

const shownWords = (shownIn: readonly number[], turns: ReadonlyMap<number, number>): string => {
  if (shownIn.length === 0) return 'shown in no request';
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
const spotsMax = 3;

/** Each place with what stands around it. Cleaned after cutting: the offsets are those of the original text. */
const spotLines = ({ text, found }: ExplainedSegment, length: number, paint: Paint): readonly string[] => {
  const lines = found.slice(0, spotsMax).map((at) => {
    const from = Math.max(0, at - aroundChars);
    const to = Math.min(text.length, at + length + aroundChars);
    const before = `${from > 0 ? '…' : ''}${flat(text.slice(from, at))}`;
    const after = `${flat(text.slice(at + length, to))}${to < text.length ? '…' : ''}`;
    return `    ${before.trimStart()}${paint('inverse', `«${sanitizeLine(text.slice(at, at + length))}»`)}${after.trimEnd()}`;
  });
  const more = found.length - lines.length;
  return more > 0 ? [...lines, `    … and ${plural(more, 'more place')}`] : lines;
};
