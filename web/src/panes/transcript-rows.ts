// The transcript of one room as rows: what crossed, what its model was shown, what it said, and what its calls returned.
import type { EventError, ShownPart, TranscriptCell, TranscriptEntry, TranscriptResult } from '#contracts';
import { formatBytes, formatDuration, plural } from '#headends/run-view';
import type { CellView, CrossingView, WindowCutView } from '#headends/run-view';
import { crossingInk, toolText } from '../rooms/texts.ts';
import { refusalText } from '../rooms/words.ts';
import { ruleFamily } from '../xray/origin.ts';
import type { NameOf } from '../xray/origin.ts';

export const rowKinds = {
  crossing: 'Crossings',
  prompt: 'Prompts',
  reply: 'Replies',
  tool: 'Tool calls',
  wait: 'Waits and retries',
} as const;

export type RowKind = keyof typeof rowKinds;

export type TranscriptRow = {
  readonly key: string;
  readonly at: number;
  readonly kind: RowKind;
  readonly label: string;
  readonly hue: string;
  /** Words, and text as it was. */
  readonly words?: string | undefined;
  readonly text?: string | undefined;
  /** A call, or the output of one. */
  readonly code?: string | undefined;
  /** What was cut, or why it failed. */
  readonly note?: string | undefined;
  readonly figures: string;
  /** How many parts the whole prompt has. */
  readonly parts?: number;
  readonly op?: number;
  readonly crossing?: string;
};

type Context = {
  readonly view: CellView;
  readonly crossings: readonly CrossingView[];
  readonly nameOf: NameOf;
  /** What another room was asked. */
  readonly goalOf: (cell: string) => string;
};

/** In the order of time; what happened at the same time stays in the order in which it follows. */
export const transcriptRows = (cell: TranscriptCell, context: Context): readonly TranscriptRow[] => {
  const { view, crossings } = context;
  const own = (way: 'from' | 'to'): readonly TranscriptRow[] =>
    crossings.filter((one) => one[way] === cell.cell).map((one) => crossingRow(one, cell, context));
  let parts = 0;
  const entries = cell.entries.flatMap((entry, at) => {
    parts += entry.shown.length - entry.removed;
    return entryRows(entry, view, at + 1, parts);
  });
  return [...own('to'), ...entries, ...view.waits.map(waitRow), ...view.cuts.map(cutRow), ...own('from')].sort(
    (one, other) => one.at - other.at,
  );
};

/** What is known of it, `a, b`. */
const list = (...words: readonly (string | false | 0 | null | undefined)[]): string => words.filter(Boolean).join(', ');

const crossingRow = (crossing: CrossingView, cell: TranscriptCell, context: Context): TranscriptRow => {
  const { id, at, kind, from, to, bytes, grant, refused } = crossing;
  const isIn = to === cell.cell;
  const other = context.nameOf(isIn ? from : to);
  const text = refused === null ? crossedText(crossing, cell, context) : undefined;
  const words =
    refused !== null
      ? `Refused: ${refusalText(refused)}. Nothing ${isIn ? `came from ${other}` : 'left this room'}.`
      : kind === 'goal' && isIn
        ? undefined
        : kind === 'result' && !isIn
          ? `Goes to ${other}, as written above.`
          : `${isIn ? 'From' : 'To'} ${other}${text === undefined ? '.' : ':'}`;
  return {
    key: id,
    at,
    kind: 'crossing',
    crossing: id,
    label: `${kind} ${isIn ? 'in' : 'out'}`,
    hue: crossingInk(crossing),
    words,
    text,
    figures: list(formatBytes(bytes), refused === null ? `grant ${grant}` : 'refused'),
  };
};

/** A goal, or the result of another room. */
const crossedText = (
  { kind, from, to }: CrossingView,
  { cell, goal, entries }: TranscriptCell,
  { goalOf }: Context,
): string | undefined => {
  if (kind === 'goal') return to === cell ? goal : goalOf(to);
  if (kind !== 'result' || to !== cell) return undefined;
  return entries.flatMap(({ results }) => results).find(({ child }) => child === from)?.result ?? undefined;
};

const entryRows = (entry: TranscriptEntry, view: CellView, no: number, parts: number): readonly TranscriptRow[] => {
  const { op, at, ms, error, said, results } = entry;
  const request = view.requests.find((one) => one.op === op);
  const repliedAt = request?.endedAt ?? at + (ms ?? 0);
  const texts = said.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const calls = said.flatMap((part) => (part.type === 'call' ? [`${part.tool} ${part.args}`] : []));
  const prompt: TranscriptRow = {
    key: `prompt ${op}`,
    at,
    kind: 'prompt',
    label: `prompt ${no}`,
    hue: 'work',
    words: describePrompt(entry, no === 1),
    parts,
    op,
    figures: list(request?.inputTokens && plural(request.inputTokens, 'token'), formatBytes(request?.promptBytes ?? 0)),
  };
  const reply: TranscriptRow = {
    key: `reply ${op}`,
    at: repliedAt,
    op,
    figures: list(request?.outputTokens && plural(request.outputTokens, 'token'), ms !== null && formatDuration(ms)),
    ...(error === null
      ? {
          kind: 'reply',
          label: 'reply',
          hue: 'work',
          text: texts.join('\n') || undefined,
          code: calls.join('\n') || undefined,
        }
      : { kind: 'wait', label: 'failed', hue: 'stop', ...failure(error) }),
  };
  return [
    prompt,
    ...(error === null && ms === null ? [] : [reply]),
    ...results
      .filter((one) => one.child === undefined || one.error !== null)
      .map((one) => resultRow(one, view, repliedAt)),
  ];
};

const failure = (error: EventError | null): Pick<TranscriptRow, 'words' | 'note'> =>
  error === null ? {} : { words: `${error.summary} ${error.detail ?? ''}`.trim(), note: error.suggestion };

const resultRow = (given: TranscriptResult, view: CellView, after: number): TranscriptRow => {
  const { op, tool, result, output, error, ms } = given;
  const call = view.calls.find((one) => one.op === op);
  const shown = output && /first (\d+) shown/u.exec(result?.slice(-300) ?? '')?.[1];
  return {
    key: `result ${op}`,
    at: call?.startedAt ?? after,
    kind: 'tool',
    label: toolText(tool),
    hue: error === null ? 'tool' : 'stop',
    op,
    code: (shown === undefined ? result : result?.slice(0, result.lastIndexOf('\n['))) ?? undefined,
    note:
      output &&
      shown &&
      `${formatBytes(Number(shown))} of ${formatBytes(output.bytes)} shown, the rest kept as ${output.name}`,
    ...failure(error),
    figures: list(call?.bytesOut && formatBytes(call.bytesOut), ms !== null && formatDuration(ms)),
  };
};

const waitRow = ({ op, startedAt, ms, for: why }: CellView['waits'][number]): TranscriptRow => ({
  key: `wait ${op}`,
  at: startedAt,
  kind: 'wait',
  label: 'wait',
  hue: 'tool',
  words: why === 'retry' ? 'Before it tries again.' : 'For the agents that it started.',
  op,
  figures: formatDuration(ms),
});

const cutRow = (cut: WindowCutView, at: number): TranscriptRow => ({
  key: `cut ${at}`,
  at: cut.at,
  kind: 'prompt',
  label: 'window',
  hue: 'tool',
  ...(cut.how === 'clamped'
    ? { words: `Its window is ${plural(cut.tokens, 'token')}.`, figures: '' }
    : {
        words: `${plural(cut.messages, 'message')} ${cut.how} to make room.`,
        figures: `${formatBytes(cut.bytesBefore)} → ${formatBytes(cut.bytesAfter)}`,
      }),
});

/** What parts are, by their rule: one of them, and several. */
const families: readonly (readonly [rules: RegExp, one: string, many: string])[] = [
  [/^(?:listed-|given-)?tool$/u, '1 tool', 'tools'],
  [/^(?:goal|task)$/u, 'the goal', 'goals'],
  [/^reply$/u, 'its own reply', 'own replies'],
  [/^(?:tool-result|shorten)$/u, 'the output', 'outputs'],
  [/^(?:child-result|gather|dependency|synthesis)$/u, 'the result', 'results'],
  [/^(?:mail|received|task-messages)$/u, 'a message', 'messages'],
  [/^(?:note|deferred|last-turn|repair)$/u, 'a note of the runtime', 'notes of the runtime'],
  [/^(?:history|compact|recap|summary)$/u, 'an earlier message', 'earlier messages'],
  [/^/u, 'another part', 'other parts'],
];

/** `Prompt of engineer, 2 tools, the goal.` */
const describePrompt = ({ shown, removed }: TranscriptEntry, isFirst: boolean): string => {
  const gone = removed === 0 ? '' : ` ${plural(removed, 'older part')} left the window.`;
  const words = describeParts(shown);
  if (isFirst) return `${words.join(', ') || 'Nothing'}.${gone}`;
  return `${['As before', words.join(' and ')].filter(Boolean).join(', and ')}.${gone}`;
};

const describeParts = (shown: readonly ShownPart[]): readonly string[] => {
  const prompt = shown.find(({ rule }) => ruleFamily(rule) === 'system');
  const groups = Map.groupBy(
    shown.filter((part) => part !== prompt),
    ({ rule }) => families.find(([rules]) => rules.test(ruleFamily(rule)))!,
  );
  const words = [...groups].map(([[, one, many], { length }]) => (length === 1 ? one : `${length} ${many}`));
  return prompt === undefined ? words : [`P${prompt.origin.split(',')[0]!.slice(1)}`, ...words];
};

/** What is copied. */
export const rowText = ({ label, words, text, code, note, figures }: TranscriptRow): string =>
  [`${label}${figures === '' ? '' : ` (${figures})`}`, words, text, code, note].filter(Boolean).join('\n');
