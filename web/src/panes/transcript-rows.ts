// The transcript of one room as rows: what crossed, what its model was shown, what it said, and what its calls returned.
import type { EventError, ShownPart, TranscriptCell, TranscriptEntry, TranscriptResult } from '#contracts';
import { formatBytes, formatDuration, plural } from '#headends/run-view';
import type { CellView, CrossingView, WindowCutView } from '#headends/run-view';
import { crossingHue, toolTitle } from '../xray/hues.ts';
import { ruleFamily } from '../xray/origin.ts';
import type { Hue, NameOf } from '../xray/hues.ts';

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
  readonly hue: Hue | 'stop';
  /** Words, and text as it was. */
  readonly words?: string;
  readonly text?: string;
  /** A call, or the output of one. */
  readonly code?: string;
  /** What was cut, or why it failed. */
  readonly note?: string;
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
  const own = crossings.filter(({ from, to }) => from === cell.cell || to === cell.cell);
  let parts = 0;
  let prompts = 0;
  const entries = cell.entries.flatMap((entry) => {
    parts += entry.shown.length - entry.removed;
    prompts++;
    return entryRows(entry, { view, no: prompts, parts });
  });
  return [
    ...own.filter(({ to }) => to === cell.cell).map((one) => crossingRow(one, cell, context)),
    ...entries,
    ...view.waits.map(waitRow),
    ...view.cuts.map(cutRow),
    ...own.filter(({ from }) => from === cell.cell).map((one) => crossingRow(one, cell, context)),
  ].sort((one, other) => one.at - other.at);
};

const crossingRow = (crossing: CrossingView, cell: TranscriptCell, context: Context): TranscriptRow => {
  const { id, at, kind, from, to, bytes, grant, refused } = crossing;
  const isIn = to === cell.cell;
  const other = context.nameOf(isIn ? from : to);
  const size = `${formatBytes(bytes)}, ${refused === null ? `grant ${grant}` : 'refused'}`;
  const common = { key: id, at, kind: 'crossing' as const, figures: size, crossing: id };
  const label = `${kind} ${isIn ? 'in' : 'out'}`;
  if (refused !== null) {
    const words = `Refused: ${refused.replaceAll('-', ' ')}. Nothing ${isIn ? `came from ${other}` : 'left this room'}.`;
    return { ...common, label, hue: 'stop', words };
  }
  return { ...common, label, hue: crossingHue(kind), ...crossingText(crossing, cell, context) };
};

const crossingText = (
  { kind, from, to }: CrossingView,
  cell: TranscriptCell,
  { nameOf, goalOf }: Context,
): Pick<TranscriptRow, 'words' | 'text'> => {
  const isIn = to === cell.cell;
  if (kind === 'goal') {
    const goal = isIn ? cell.goal : goalOf(to);
    return { ...(isIn ? {} : { words: `To ${nameOf(to)}:` }), text: goal };
  }
  if (kind !== 'result') return { words: isIn ? `From ${nameOf(from)}.` : `To ${nameOf(to)}.` };
  if (!isIn) return { words: `Goes to ${nameOf(to)}, as written above.` };
  const result = cell.entries.flatMap(({ results }) => results).find(({ child }) => child === from)?.result;
  return { words: `From ${nameOf(from)}${result == null ? '.' : ':'}`, ...(result == null ? {} : { text: result }) };
};

type EntryContext = { readonly view: CellView; readonly no: number; readonly parts: number };

const entryRows = (entry: TranscriptEntry, context: EntryContext): readonly TranscriptRow[] => {
  const { op, at, ms, error, said } = entry;
  const { view, no, parts } = context;
  const request = view.requests.find((one) => one.op === op);
  const prompt: TranscriptRow = {
    key: `prompt ${op}`,
    at,
    kind: 'prompt',
    label: `prompt ${no}`,
    hue: 'work',
    words: describePrompt(entry, no === 1),
    parts,
    op,
    figures: [
      ...(request?.inputTokens ? [plural(request.inputTokens, 'token')] : []),
      formatBytes(request?.promptBytes ?? 0),
    ].join(', '),
  };
  const repliedAt = request?.endedAt ?? at + (ms ?? 0);
  const texts = said.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const calls = said.flatMap((part) => (part.type === 'call' ? [`${part.tool} ${part.args}`] : []));
  const figures = [
    ...(request?.outputTokens ? [plural(request.outputTokens, 'token')] : []),
    ...(ms === null ? [] : [formatDuration(ms)]),
  ].join(', ');
  const common = { key: `reply ${op}`, at: repliedAt, kind: 'reply' as const, op, figures };
  const reply: readonly TranscriptRow[] =
    error === null && ms === null
      ? []
      : [
          error === null
            ? {
                ...common,
                label: 'reply',
                hue: 'work',
                ...(texts.length === 0 ? {} : { text: texts.join('\n') }),
                ...(calls.length === 0 ? {} : { code: calls.join('\n') }),
              }
            : { ...common, kind: 'wait', label: 'failed', hue: 'stop', ...failure(error) },
        ];
  const results = entry.results.filter(({ child, error: failed }) => child === undefined || failed !== null);
  return [prompt, ...reply, ...results.map((result) => resultRow(result, view, repliedAt))];
};

const failure = ({ summary, detail, suggestion }: EventError): Pick<TranscriptRow, 'words' | 'note'> => ({
  words: [summary, detail].filter(Boolean).join(' '),
  note: suggestion,
});

const resultRow = (given: TranscriptResult, view: CellView, after: number): TranscriptRow => {
  const { op, tool, result, output, error, ms } = given;
  const call = view.calls.find((one) => one.op === op);
  const shown = /first (\d+) shown/u.exec(result?.slice(-300) ?? '')?.[1];
  const isCut = output !== undefined && shown !== undefined;
  return {
    key: `result ${op}`,
    at: call?.startedAt ?? after,
    kind: 'tool',
    label: toolTitle(tool),
    hue: error === null ? 'tool' : 'stop',
    op,
    ...(error === null ? {} : failure(error)),
    ...(result === null ? {} : { code: isCut ? result.slice(0, result.lastIndexOf('\n[')) : result }),
    ...(isCut
      ? { note: `${formatBytes(Number(shown))} of ${formatBytes(output.bytes)} shown, the rest kept as ${output.name}` }
      : {}),
    figures: [
      ...(call === undefined || call.bytesOut === 0 ? [] : [formatBytes(call.bytesOut)]),
      ...(ms === null ? [] : [formatDuration(ms)]),
    ].join(', '),
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
  words:
    cut.how === 'clamped'
      ? `Its window is ${plural(cut.tokens, 'token')}.`
      : `${plural(cut.messages, 'message')} ${cut.how} to make room.`,
  figures: cut.how === 'clamped' ? '' : `${formatBytes(cut.bytesBefore)} → ${formatBytes(cut.bytesAfter)}`,
});

const families: Readonly<Record<string, readonly [one: string, many: string]>> = {
  tool: ['tool', 'tools'],
  goal: ['the goal', 'the goal'],
  reply: ['its own reply', 'its own replies'],
  output: ['the output', 'outputs'],
  result: ['the result', 'results'],
  message: ['a message', 'messages'],
  note: ['a note of the runtime', 'notes of the runtime'],
  earlier: ['an earlier message', 'earlier messages'],
  other: ['another part', 'other parts'],
};

const familyOf: Readonly<Record<string, string>> = {
  tool: 'tool',
  'listed-tool': 'tool',
  'given-tool': 'tool',
  goal: 'goal',
  task: 'goal',
  reply: 'reply',
  'tool-result': 'output',
  shorten: 'output',
  'child-result': 'result',
  gather: 'result',
  dependency: 'result',
  synthesis: 'result',
  mail: 'message',
  received: 'message',
  'task-messages': 'message',
  note: 'note',
  deferred: 'note',
  'last-turn': 'note',
  repair: 'note',
  history: 'earlier',
  compact: 'earlier',
  recap: 'earlier',
  summary: 'earlier',
};

/** `Prompt of engineer, 2 tools, the goal.` */
const describePrompt = ({ shown, removed }: TranscriptEntry, isFirst: boolean): string => {
  const gone = removed === 0 ? '' : ` ${plural(removed, 'older part')} left the window.`;
  const words = describeParts(shown);
  if (isFirst) return `${words.join(', ') || 'Nothing'}.${gone}`;
  return words.length === 0 ? `As before.${gone}` : `As before, and ${words.join(' and ')}.${gone}`;
};

const describeParts = (shown: readonly ShownPart[]): readonly string[] => {
  const prompt = shown.find(({ rule }) => ruleFamily(rule) === 'system');
  const rest = shown.filter((part) => part !== prompt);
  const groups = Map.groupBy(rest, ({ rule }) => familyOf[ruleFamily(rule)] ?? 'other');
  const words = [...groups].map(([family, { length }]) => {
    const [one, many] = families[family] ?? families['other']!;
    if (length === 1) return family === 'tool' ? '1 tool' : one;
    return many === one ? one : `${length} ${many}`;
  });
  return prompt === undefined ? words : [`P${prompt.origin.split(',')[0]!.slice(1)}`, ...words];
};

/** What is copied. */
export const rowText = ({ label, words, text, code, note, figures }: TranscriptRow): string =>
  [`${label}${figures === '' ? '' : ` (${figures})`}`, words, text, code, note].filter(Boolean).join('\n');
