// `explain`: traces everything a cell's model was shown back to its source.
import type { ExplainedSegment, Explanation, TrailStep } from '#contracts';
import { plural } from '#headends/run-view';
import { defineCommand } from './shared/define-command.ts';
import { exitCode } from './shared/errors.ts';
import { openRunToRead, resolveCell, resolveRun } from './shared/find-and-open.ts';
import { requiredArgument, runArgument, textOption, workspaceOption } from './shared/options.ts';
import type { Printer, Screen } from './shared/output.ts';
import {
  sanitizeAll,
  sanitizeBlock,
  excerpt,
  collapseSpaces,
  sanitizeLine,
  wrapLines,
  wrapText,
} from './shared/sanitize-text.ts';

export default defineCommand({
  about: 'trace everything a cell’s model was shown back to its source',
  examples: ['cloister explain last researcher --find "write-ahead log"', 'cloister explain last write-up --verbose'],
  arguments: { ...runArgument, cell: requiredArgument('a cell id or prefix, an agent name, or a task id') },
  options: { ...workspaceOption, find: textOption('<text>', 'only segments that contain this text') },
  run: async ({ find, json, verbose, workspace, ...given }, { runtime, output }) => {
    await using cloister = await openRunToRead({ workspace, run: given.run }, runtime);
    const run = await resolveRun(cloister, given.run);
    const cell = resolveCell(await cloister.show(run), given.cell, await cloister.tasks(run));
    const explanation = await cloister.explain(run, cell, find === null ? {} : { find });
    const { segments: all } = explanation;
    const segments = find === null ? all : all.filter(({ found }) => found.length > 0);
    output.result(json, explanation, (printer) => explainLines(explanation, segments, { printer, verbose }));
    return find !== null && segments.length === 0 ? exitCode.config : exitCode.completed;
  },
});

const explainLines = (
  explanation: Explanation,
  segments: readonly ExplainedSegment[],
  { printer, verbose }: { readonly printer: Printer; readonly verbose: boolean },
): readonly string[] => {
  const { cell, agent, run, attempts, find } = sanitizeAll({ ...explanation, segments: [] });
  const saw = `${plural(explanation.segments.length, 'segment')} in ${plural(attempts.length, 'model request')}`;
  const head = `${printer.paint('bold', cell)} (${sanitizeLine(agent)}) of run ${run}: ${saw}`;
  if (find !== null && segments.length === 0)
    return [head, `"${sanitizeLine(find)}" does not occur in anything this cell’s model was shown.`];
  const requests = new Map(attempts.map(({ op, turn }, nth) => [op, { nth, turn }]));
  const hasRoom = printer.columns >= wideFrom || (find === null && !printer.isTerminal);
  const view = { find: explanation.find, requests, printer, whole: verbose || hasRoom };
  const isCut = !view.whole && segments.some((segment) => isLong(segment, view));
  return [
    head,
    ...(find === null ? [] : [`"${sanitizeLine(find)}" occurs in ${plural(segments.length, 'segment')}:`]),
    ...segments.flatMap((segment) => ['', ...segmentLines(segment, view)]),
    ...(isCut ? ['', 'Texts are cut here: use --verbose for all of them.'] : []),
  ];
};

type Requests = ReadonlyMap<number, { readonly nth: number; readonly turn: number }>;

type SegmentView = {
  readonly find: string | null;
  /** Its requests by operation. */
  readonly requests: Requests;
  readonly printer: Screen;
  /** Whether texts are shown whole, and every match. */
  readonly whole: boolean;
};

/** Whether a line shows less than its text. */
const isLong = ({ text, found }: ExplainedSegment, { find, printer }: SegmentView): boolean =>
  find === null
    ? excerpt(text, printer.columns - 4) !== sanitizeBlock(text).trim()
    : found.some((at) => at > aroundChars || at + find.length + aroundChars < text.length);

/** A terminal with this much room shows texts whole; so does a file or a pipe, unless matches are wanted. */
const wideFrom = 119;

const segmentLines = (segment: ExplainedSegment, view: SegmentView): readonly string[] => {
  const { find, requests, printer } = view;
  const [first = 'text added by the runtime', ...rest] = trailLines(sanitizeAll(segment.trail));
  const title = `#${segment.id} ${sanitizeLine(segment.origin.rule)}`;
  const [head = '', ...more] = wrapText(`${title} ← `, first, printer.columns, 6);
  return [
    `${printer.paint('bold', title)}${head.slice(title.length)}`,
    ...more,
    ...rest.flatMap((line) => wrapText('    ← ', line, printer.columns, 6)),
    `    ${printer.paint('dim', `${plural(segment.bytes, 'byte')}, ${describeShownIn(segment.shownIn, requests)}`)}`,
    ...(find === null
      ? textLines(segment, view)
      : view.whole
        ? markedLines(segment, find.length, printer)
        : matchLines(segment, find.length, printer)),
  ];
};

const textLines = ({ text }: ExplainedSegment, { whole, printer: { columns } }: SegmentView): readonly string[] => {
  const lines = whole ? wrapLines(sanitizeBlock(text), columns - 4) : [excerpt(text, columns - 4)];
  return lines.map((line) => `    ${line}`.trimEnd());
};

const describeShownIn = (shownIn: ExplainedSegment['shownIn'], requests: Requests): string => {
  const [first, last] = [requests.get(shownIn?.first ?? -1), requests.get(shownIn?.last ?? -1)];
  if (first === undefined || last === undefined) return 'not shown in any request';
  const turns = first.turn === last.turn ? `turn ${first.turn}` : `turns ${first.turn}–${last.turn}`;
  return `shown in ${plural(last.nth - first.nth + 1, 'request')} (${turns})`;
};

/** The whole text, with every match marked. Sanitized in pieces: the offsets refer to the original text. */
const markedLines = (
  { text, found }: ExplainedSegment,
  length: number,
  { paint, columns }: Screen,
): readonly string[] => {
  const pieces: string[] = [];
  let end = 0;
  for (const at of found) {
    if (at < end) continue;
    pieces.push(sanitizeBlock(text.slice(end, at)), `«${sanitizeLine(text.slice(at, at + length))}»`);
    end = at + length;
  }
  const marked = `${pieces.join('')}${sanitizeBlock(text.slice(end))}`;
  return wrapLines(marked, columns - 4).map((line) =>
    `    ${line}`
      .trimEnd()
      .replaceAll(/«[^»]*»/gu, (match) => (pieces.includes(match) ? paint('inverse', match) : match)),
  );
};

const aroundChars = 60;
const matchesMax = 3;

/** Each match with the text around it. Sanitized after cutting: the offsets refer to the original text. */
const matchLines = (
  { text, found }: ExplainedSegment,
  length: number,
  { paint, columns }: Screen,
): readonly string[] => {
  const shown = found.slice(0, matchesMax);
  const lines = shown.flatMap((at) => {
    const from = Math.max(0, at - aroundChars);
    const to = Math.min(text.length, at + length + aroundChars);
    const before = `${from > 0 ? '…' : ''}${collapseSpaces(text.slice(from, at))}`;
    const after = `${collapseSpaces(text.slice(at + length, to))}${to < text.length ? '…' : ''}`;
    const match = `«${sanitizeLine(text.slice(at, at + length))}»`;
    return wrapText('    ', `${before.trimStart()}${match}${after.trimEnd()}`, columns, 4).map((line) =>
      line.replace(match, () => paint('inverse', match)),
    );
  });
  const more = found.length - shown.length;
  return more > 0
    ? [...lines, `    … and ${plural(more, 'more match', 'more matches')}: use --verbose for all`]
    : lines;
};

/** The trail must be sanitized. Many segments, one after another, take one line. */
const trailLines = (trail: readonly TrailStep[]): readonly string[] => {
  const lines: string[] = [];
  for (let at = 0; at < trail.length;) {
    const step = trail[at]!;
    const end = step.type === 'segment' ? endOfRange(trail, at) : at + 1;
    const last = trail[end - 1]!;
    if (step.type === 'segment' && last.type === 'segment' && end - at >= rangeMin)
      lines.push(`segments #${step.id}–#${last.id}`);
    else lines.push(...trail.slice(at, end).map((one) => sanitizeLine(describeStep(one))));
    at = end;
  }
  return lines;
};

/** Fewer segments are listed one by one. */
const rangeMin = 6;

/** The place after the segments that follow each other in number, from `at` on. */
const endOfRange = (trail: readonly TrailStep[], at: number): number => {
  let end = at + 1;
  for (let step = trail[at]; step?.type === 'segment'; end++) {
    const next = trail[end];
    if (next?.type !== 'segment' || next.id !== step.id + 1) return end;
    step = next;
  }
  return end;
};

const describeStep = (step: TrailStep): string => {
  switch (step.type) {
    case 'definition':
      return step.given === true
        ? `client tool sent with the request, for ${step.agent} (${step.path})`
        : `definition of ${step.agent} (${step.path})`;
    case 'operation':
      return `operation ${step.cell}/${step.op} ${step.name}`;
    case 'crossing':
      return `crossing ${step.kind} from ${step.from}${step.caller === undefined ? '' : ` (caller ${step.caller})`} under grant "${step.grant}" (${plural(step.bytes, 'byte')}, sha256 ${step.sha256.slice(0, 12)}…${
        step.labels.length === 0 ? '' : `, ${step.labels.join(' ')}`
      })`;
    case 'task':
      return `result of task "${step.title}" (${step.task}, by ${step.assignee ?? 'unknown'})${step.cell === null ? '' : ` in ${step.cell}`}`;
    case 'skill':
      return `skill "${step.skill}" of ${step.agent}, ${step.file ?? 'SKILL.md'} (sha256 ${step.sha256.slice(0, 12)}…)`;
    case 'segment':
      return `segment #${step.id} ${step.rule}`;
  }
};
