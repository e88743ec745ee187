// The way of a text back to the person, file, tool or agent that it came from, across rooms.
//
//   trail-by-record. Each step is one that the record has: the sources of a part, the crossing that brought it, the request in whose
//       reply it was written. Where a model wrote it, the trail goes on with the part of that request's prompt that holds the same words;
//       if none does, with what the room was asked.
import type { Explanation, ExplainedSegment, TrailStep } from '#contracts';
import { count } from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import { crossingInk, toolText } from '../rooms/texts.ts';
import { crossingsInto, describePart, replyOf, ruleFamily, segmentsShown } from './origin.ts';
import type { NameOf } from './origin.ts';
import { wordsOf } from './text-pieces.ts';

/** One stop of a trail. `round`: it was brought from elsewhere. */
export type TrailStop = {
  readonly title: string;
  readonly about: string;
  readonly hue: string;
  readonly text?: string | undefined;
  /** In a trail on one line: `lead, request 1`; absent: it is left out there. */
  readonly short?: string;
  readonly round?: boolean;
  /** Where it happened, if it can be opened. */
  readonly cell?: string;
  readonly op?: number;
  readonly crossing?: string | undefined;
};

export type TrailContext = {
  readonly view: RunView;
  readonly nameOf: NameOf;
  explain(cell: string): Promise<Explanation>;
  /** What a room answered; undefined: it has not. */
  outputOf(cell: string): string | undefined;
};

export type TrailStart = {
  readonly cell: string;
  readonly op: number;
  readonly segment: number;
  /** A text in it; empty: the whole part. */
  readonly find: string;
};

/** `this ← lead, request 1 ← you`. */
export const shortTrail = (stops: readonly TrailStop[]): readonly string[] =>
  stops.flatMap(({ short }) => short ?? []).filter((one, at, all) => one !== all[at - 1]);

const stopsMax = 40;

/** Where a trail goes on: a part of a prompt, what a model wrote in a request, or else what the room was asked. */
type Next = { readonly cell: string; readonly segment?: number; readonly op?: number };

/** A trail under way: each step adds its stops. */
type Walk = TrailContext & { readonly words: string; add(...stop: StopArguments): void };

type StopArguments = [title: string, about: string, hue: string, more?: Partial<TrailStop>];

export const buildTrail = async (context: TrailContext, start: TrailStart): Promise<readonly TrailStop[]> => {
  const { cell, op, segment, find } = start;
  const stops: TrailStop[] = [];
  const add: Walk['add'] = (title, about, hue, more) => void stops.push({ title, about, hue, ...more });
  const walk: Walk = { ...context, words: wordsOf(find), add };
  const explanation = await context.explain(cell);
  const no = explanation.attempts.findIndex((one) => one.op === op);
  const shown = segmentsShown(explanation, op).map(({ id }) => id);
  add(
    'You are here',
    `${context.nameOf(cell)}, request ${no + 1}, part ${shown.indexOf(segment) + 1} of ${shown.length}`,
    'goal',
    { short: 'this', text: find === '' ? undefined : `“${find}”`, round: true, cell, op },
  );
  const visited = new Set<string>();
  for (let next: Next | null = { cell, segment }; next !== null && stops.length < stopsMax;) {
    const key = JSON.stringify(next);
    if (visited.has(key)) break;
    visited.add(key);
    next = await step(walk, next);
  }
  return stops;
};

const step = async (walk: Walk, { cell, segment: wanted, op }: Next): Promise<Next | null> => {
  const explanation = await walk.explain(cell);
  if (op !== undefined) return sourceOfReply(walk, explanation, op);
  if (wanted === undefined) return walkGoal(walk, cell);
  const segment = explanation.segments.find(({ id }) => id === wanted);
  return segment === undefined ? null : walkSegment(walk, explanation, segment);
};

const walkSegment = async (walk: Walk, explanation: Explanation, segment: ExplainedSegment): Promise<Next | null> => {
  const { cell } = explanation;
  const { title, origin } = describePart(segment, { explanation, nameOf: walk.nameOf, no: 0 });
  const asking = replyOf(segment);
  if (crossingsInto(segment, cell).length > 0) return walkCrossing(walk, cell, segment, asking);
  const earlier = segment.trail.flatMap((one) => (one.type === 'segment' ? [one.id] : []));
  if (earlier.length > 0) {
    // Older parts that were made shorter.
    const holds = (id: number): boolean =>
      walk.words !== '' && explanation.segments.find((one) => one.id === id)!.text.includes(walk.words);
    walk.add(title, `from ${earlier.length === 1 ? 'an earlier part' : `${earlier.length} earlier parts`}`, 'file');
    return { cell, segment: earlier.find(holds) ?? earlier[0]! };
  }
  const operations = segment.trail.filter((one) => one.type === 'operation');
  const call = operations.find(({ name }) => !name.startsWith('model:'));
  if (call !== undefined) return walkCall(walk, explanation, segment, call, asking);
  if (operations[0] !== undefined) return wrote(walk, cell, operations[0].op, 'wrote it');
  walkFile(walk, segment, title, origin, cell);
  return null;
};

/** The end of a trail in a file, or in the runtime itself. */
const walkFile = (walk: Walk, { trail }: ExplainedSegment, title: string, origin: string, cell: string): void => {
  const skill = trail.find((one) => one.type === 'skill');
  if (skill !== undefined)
    walk.add(`Skill ${skill.skill} of ${skill.agent}`, 'agent file', 'file', { short: 'a skill' });
  else if (origin === 'agent file')
    walk.add(`The agent file of ${walk.nameOf(cell)} says so`, title, 'file', { short: origin });
  else if (origin === 'your request') walk.add('It came with your request', title, 'file', { short: 'you' });
  else walk.add('The runtime wrote it', title, 'file', { short: 'the runtime' });
};

/** The reply of a room in which it did something. The trail goes on with what it saw. */
const wrote = async (walk: Walk, cell: string, op: number, did: string, text?: string): Promise<Next> => {
  const { attempts } = await walk.explain(cell);
  const no = attempts.findIndex((one) => one.op === op) + 1;
  const request = no === 0 ? '' : `, request ${no}`;
  const name = walk.nameOf(cell);
  walk.add(`${name} ${did}`, `operation ${op}${request}`, 'work', { short: `${name}${request}`, cell, op, text });
  return { cell, op };
};

type Step<Type> = Extract<TrailStep, { type: Type }>;

/** A tool answered what a reply of this room asked; a server listed its tools. */
const walkCall = async (
  walk: Walk,
  { cell, segments }: Explanation,
  { text }: ExplainedSegment,
  { op, name }: Step<'operation'>,
  asking: number | undefined,
): Promise<Next | null> => {
  const called = name.slice(name.indexOf(':') + 1);
  if (name.startsWith('tools:')) {
    walk.add(`Server ${called} listed it`, `operation ${op}`, 'tool', { short: `server ${called}`, cell, op });
    return null;
  }
  const bytes = walk.view.cells.get(cell)?.calls.find((one) => one.op === op)?.bytesOut;
  // What is too long to show whole says at its end how much of it is shown.
  const said = /first (\d+) shown/u.exec(text.slice(-300))?.[1];
  const shown = said === undefined ? new TextEncoder().encode(text).length : Number(said);
  const cut = bytes !== undefined && bytes > shown ? `, ${count(shown)} shown` : '';
  const size = bytes === undefined ? '' : `, ${count(bytes)} bytes out${cut}`;
  const short = toolText(called);
  walk.add(`${short} answered`, `operation ${op}${size}`, 'tool', { short, cell, op });
  if (asking === undefined) return { cell };
  // The arguments of the call, as the part that shows the reply has them.
  const reply = segments.find((one) => ruleFamily(one.origin.rule) === 'reply' && replyOf(one) === asking);
  const lines = reply?.text.split('\n');
  const call = lines?.find((one) => one.startsWith(`${called} `))?.slice(called.length + 1);
  return wrote(walk, cell, asking, 'asked for it', call);
};

/** Several may have crossed together: the trail follows the one that holds the words. */
const walkCrossing = async (
  walk: Walk,
  cell: string,
  segment: ExplainedSegment,
  asking: number | undefined,
): Promise<Next | null> => {
  const all = crossingsInto(segment, cell);
  const holds = (from: string): boolean => walk.words !== '' && walk.outputOf(from)?.includes(walk.words) === true;
  const chosen = all.length === 1 ? all[0] : all.find(({ from }) => holds(from));
  if (chosen !== undefined) return fromCrossing(walk, chosen, senderOf(segment.trail, chosen));
  const names = all.map(({ from }) => walk.nameOf(from)).join(', ');
  const hue = crossingInk({ kind: all[0]!.kind, refused: null });
  walk.add(`${all.length} crossed together`, `from ${names}`, hue, { round: true });
  return asking === undefined ? { cell } : wrote(walk, cell, asking, 'asked for them');
};

type Crossing = Step<'crossing'>;

/** The request in whose reply a sender wrote it. */
const senderOf = (trail: readonly TrailStep[], { from, to, sha256 }: Crossing): Next | null => {
  if (from === 'outside') return null;
  const at = trail.findIndex((one) => one.type === 'crossing' && one.sha256 === sha256 && one.from === from);
  const by = trail[at + 1]?.type === 'task' ? trail[at + 2] : trail[at + 1];
  return by?.type === 'operation' && by.cell !== to ? { cell: by.cell, op: by.op } : { cell: from };
};

const asked: Readonly<Record<string, string>> = {
  goal: 'You asked',
  answer: 'You answered',
  attachment: 'You attached it',
  history: 'It is from earlier messages',
  share: 'You gave it as instructions',
};

const fromCrossing = (
  walk: Walk,
  { kind, from, to, grant, bytes, sha256 }: Pick<Crossing, 'kind' | 'from' | 'to' | 'grant' | 'bytes' | 'sha256'>,
  next: Next | null,
): Next | null | Promise<Next> => {
  const { view, nameOf } = walk;
  const crossing = view.crossings.find((one) => one.sha256 === sha256 && one.to === to)?.id;
  const text = (kind === 'goal' && to !== 'outside' && view.cells.get(to)?.goal) || undefined;
  const size = `${count(bytes)} bytes, sha256 ${sha256.slice(0, 8)}`;
  if (from === 'outside') {
    walk.add(asked[kind] ?? 'You wrote it', size, 'file', { short: 'you', text, crossing });
    return null;
  }
  const title = `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)} crossed from ${nameOf(from)}`;
  const hue = crossingInk({ kind, refused: null });
  walk.add(title, `grant ${grant}, ${size}`, hue, { round: true, text, crossing });
  if (next?.op === undefined) return next;
  return wrote(walk, next.cell, next.op, kind === 'goal' || kind === 'result' ? `wrote that ${kind}` : 'wrote it');
};

/** What a room was asked: how a trail goes on where nothing else is known. */
const walkGoal = (walk: Walk, cell: string): Next | null | Promise<Next> => {
  const goal = walk.view.crossings.find(({ kind, to, grant }) => to === cell && kind === 'goal' && grant !== null);
  return goal === undefined
    ? null
    : fromCrossing(walk, { ...goal, grant: goal.grant ?? '', sha256: goal.sha256 ?? '' }, { cell: goal.from });
};

const outOfFile = new Set(['system', 'tool', 'listed-tool']);
const requests = new Set(['goal', 'task', 'mail', 'received']);

/** The part of its prompt that holds the words, or what it was asked last. */
const sourceOfReply = ({ words }: Walk, explanation: Explanation, op: number): Next => {
  const { cell } = explanation;
  const parts = segmentsShown(explanation, op).filter(({ origin }) => !outOfFile.has(ruleFamily(origin.rule)));
  const found =
    (words === '' ? undefined : parts.find(({ text }) => text.includes(words))) ??
    parts.findLast(({ origin }) => requests.has(ruleFamily(origin.rule)));
  return found === undefined ? { cell } : { cell, segment: found.id };
};
