// What rooms say in words: the sentence above them, what a cell saw and never saw, and each room for screen readers.
import { count, formatBytes, plural } from '#headends/run-view';
import type { CellView, CrossingView, RunView } from '#headends/run-view';
import { crossingInk } from './texts.ts';
import type { Ink } from './texts.ts';

/** Names as rooms have them: `researcher`, `researcher#2`. */
export const roomNames = (view: RunView): ((end: string) => string) => {
  const names = new Map<string, string>();
  for (const [agent, cells] of view.cellsOf) {
    let nth = 0;
    for (const cell of cells) names.set(cell, ++nth === 1 ? agent : `${agent}#${nth}`);
  }
  return (end) => (end === 'outside' ? 'you' : (names.get(end) ?? end));
};

export type Sentence = { readonly lead: string; readonly refused: string; readonly rest: string };

/** Computed from the crossings, never assumed. */
export const runSentence = (view: RunView): Sentence => {
  const { crossings, cells } = view;
  const nameOf = roomNames(view);
  const asking = [...view.questions.values()].filter(({ state }) => state === null);
  if (asking.length > 0)
    return {
      lead: `${plural(asking.length, 'question')} open.`,
      refused: '',
      rest: askingWords(view, [...new Set(asking.map(({ cell }) => cell))], nameOf),
    };
  const rooms = plural(cells.size, 'room');
  const refused = crossings.filter((one) => one.refused !== null);
  const granted = crossings.length - refused.length;
  const isLive = view.cells.values().next().value?.status === null;
  const stopped = refused.length === 0 ? '' : `${count(refused.length)} refused`;
  if (isLive)
    return {
      lead: `${rooms}, ${plural(granted, 'crossing')} so far${stopped === '' ? '.' : ', '}`,
      refused: stopped,
      rest: refusedWords(refused, nameOf),
    };
  if (crossings.length === 0) return { lead: `${rooms}, no crossings.`, refused: '', rest: '' };
  if (refused.length > 0)
    return {
      lead: `${rooms}, ${plural(granted, 'crossing')} granted, `,
      refused: stopped,
      rest: refusedWords(refused, nameOf),
    };
  return {
    lead: `${rooms}, ${plural(granted, 'crossing')}, all granted.`,
    refused: '',
    rest: cells.size === 1 ? 'Nothing else came in or went out.' : 'Nothing else passed between them.',
  };
};

const refusedWords = (refused: readonly CrossingView[], nameOf: (end: string) => string): string => {
  const [first, ...others] = refused;
  if (first === undefined) return '';
  const what = first.from === 'outside' ? `Your ${first.kind}` : `${nameOf(first.from)}’s ${first.kind}`;
  if (others.length === 0) return first.from === 'outside' ? `${what} did not come in.` : `${what} stayed in its room.`;
  return `${what} and ${plural(others.length, 'other')} stayed where they were.`;
};

/** A cell that asks has sent nothing since its last request, unless the log says so. */
const askingWords = (view: RunView, cells: readonly CellView['cell'][], nameOf: (end: string) => string): string => {
  const [first, ...others] = cells;
  if (first === undefined) return '';
  if (others.length > 0) return `${listWords(cells.map(nameOf), 3)} stand at their doors.`;
  const requests = view.cells.get(first)?.requests ?? [];
  const since = requests.at(-1)?.startedAt ?? 0;
  const hasLeft = view.crossings.some(({ from, at, refused }) => from === first && at >= since && refused === null);
  const stands = `${nameOf(first)} stands at its door`;
  return hasLeft || requests.length === 0
    ? `${stands}.`
    : `${stands}; nothing has left its room since request ${requests.length}.`;
};

/** `a, b and c`; of many, the first ones and how many more. */
const listWords = (names: readonly string[], most: number): string => {
  const shown = names.length > most + 1 ? [...names.slice(0, most), `${names.length - most} others`] : names;
  return shown.length < 2 ? (shown[0] ?? '') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
};

export type SeenCrossing = {
  readonly id: string;
  readonly ink: Ink;
  readonly kind: string;
  /** `from lead`, `to lead`. */
  readonly way: string;
  /** `63 B, grant goal`. */
  readonly terms: string;
};

export type Sighting = {
  readonly title: string;
  readonly seen: readonly SeenCrossing[];
  /** How many more there are. */
  readonly more: number;
  readonly never: string;
};

const mostSeen = 7;

export const refusalText = (reason: string): string => reason.replaceAll('-', ' ');

const termsOf = ({ bytes, grant, refused }: CrossingView): string =>
  refused === null ? `${formatBytes(bytes)}, grant ${grant}` : `${formatBytes(bytes)} refused, ${refusalText(refused)}`;

/** What the cells of a room saw, of all that crossed. */
export const whatItSaw = (view: RunView, cells: ReadonlySet<string>, title: string): Sighting => {
  const nameOf = roomNames(view);
  const own = view.crossings.filter(({ from, to }) => cells.has(from) || cells.has(to));
  const met = new Set(own.flatMap(({ from, to }) => [from, to]) as readonly string[]);
  const [root] = view.cells.keys();
  const strangers = [...view.cells.keys()].filter((cell) => !met.has(cell) && !cells.has(cell)).map(nameOf);
  const hides = (kind: string, from: string, to: string): boolean =>
    view.crossings.some((one) => one.kind === kind && one.from === from && one.to === to && !own.includes(one));
  const never = [
    ...(strangers.length > 5 ? [...strangers.slice(0, 4), `${strangers.length - 4} other rooms`] : strangers),
    ...(root !== undefined && hides('goal', 'outside', root) ? ['your question'] : []),
    ...(root !== undefined && hides('result', root, 'outside') ? ['the answer'] : []),
  ];
  return {
    title: `${title} saw ${count(own.length)} of ${plural(view.crossings.length, 'crossing')}`,
    seen: own.slice(0, own.length > mostSeen + 1 ? mostSeen : own.length).map((one) => ({
      id: one.id,
      ink: crossingInk(one),
      kind: one.kind,
      way: cells.has(one.to) ? `from ${nameOf(one.from)}` : `to ${nameOf(one.to)}`,
      terms: termsOf(one),
    })),
    more: own.length > mostSeen + 1 ? own.length - mostSeen : 0,
    never: never.length === 0 ? 'It saw everything that crossed.' : `Never saw: ${never.join(', ')}.`,
  };
};

export const crossingWords = (view: RunView, crossing: CrossingView): Sighting => {
  const nameOf = roomNames(view);
  const { kind, from, to, sha256 } = crossing;
  return {
    title: `${kind} from ${nameOf(from)} to ${nameOf(to)}`,
    seen: [],
    more: 0,
    never: `${termsOf(crossing)}${sha256 === null ? '' : `, SHA-256 ${sha256.slice(0, 8)}`}`,
  };
};

/** `engineer, 3 requests, completed. In: goal from lead, 63 bytes. Out: result refused, no grant.` */
export const roomWords = (
  name: string,
  { requests, status, cell }: CellView,
  own: readonly CrossingView[],
  nameOf: (end: string) => string,
): string => {
  const say = ({ kind, from, to, bytes, refused }: CrossingView): string =>
    refused === null
      ? `${kind} ${to === cell ? `from ${nameOf(from)}` : `to ${nameOf(to)}`}, ${plural(bytes, 'byte')}`
      : `${kind} refused, ${refusalText(refused)}`;
  const ways = [
    ['In', own.filter(({ to }) => to === cell)],
    ['Out', own.filter(({ to }) => to !== cell)],
  ] as const;
  const crossed = ways.flatMap(([way, some]) => {
    const more = some.length > 5 ? `; and ${some.length - 5} more` : '';
    return some.length === 0 ? [] : [` ${way}: ${some.slice(0, 5).map(say).join('; ')}${more}.`];
  });
  return `${name}, ${plural(requests.length, 'request')}, ${status ?? 'working'}.${crossed.join('')}`;
};
