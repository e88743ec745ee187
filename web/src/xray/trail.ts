// The way of a text back to the person, file, tool or agent that it came from, across rooms.
//
//   trail-by-record. Each step is one that the record has: the sources of a part, the crossing that brought it, the request in whose
//       reply it was written. Where a model wrote it, the trail goes on with the part of that request's prompt that holds the same words;
//       if none does, with what the room was asked.
import type { Explanation, ExplainedSegment, TrailStep } from '#contracts';
import { count } from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import { crossingHue, toolTitle } from './hues.ts';
import { crossingsInto, describePart, ruleFamily } from './origin.ts';
import type { Hue, NameOf } from './hues.ts';
import { wordsOf } from './text-pieces.ts';

/** One stop of a trail. `round`: it was brought from elsewhere. */
export type TrailStop = {
  readonly title: string;
  readonly about: string;
  readonly text?: string;
  /** In a trail on one line: `lead, request 1`; absent: it is left out there. */
  readonly short?: string;
  readonly hue: Hue;
  readonly round: boolean;
  /** Where it happened, if it can be opened. */
  readonly cell?: string;
  readonly op?: number;
  readonly crossing?: string;
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

/** Where a trail goes on: a part of a prompt, or what a model wrote in a request. */
type Next =
  | { readonly type: 'segment'; readonly cell: string; readonly segment: number }
  | { readonly type: 'reply'; readonly cell: string; readonly op: number }
  | { readonly type: 'goal'; readonly cell: string };

export const buildTrail = async (context: TrailContext, start: TrailStart): Promise<readonly TrailStop[]> => {
  const stops: TrailStop[] = [await firstStop(context, start)];
  const words = wordsOf(start.find);
  const visited = new Set<string>();
  let next: Next | null = { type: 'segment', cell: start.cell, segment: start.segment };
  while (next !== null && stops.length < stopsMax) {
    const key = JSON.stringify(next);
    if (visited.has(key)) break;
    visited.add(key);
    const walked = await walk(context, next, words);
    stops.push(...walked.stops);
    next = walked.next;
  }
  return stops;
};

const firstStop = async (context: TrailContext, { cell, op, segment, find }: TrailStart): Promise<TrailStop> => {
  const { attempts, agent } = await context.explain(cell);
  const no = attempts.findIndex((one) => one.op === op);
  const shown = attempts[no]?.segments ?? [];
  const place = `part ${shown.indexOf(segment) + 1} of ${shown.length}`;
  const about = `${agent}, request ${no + 1}, ${place}`;
  return {
    title: 'You are here',
    about,
    short: 'this',
    ...(find === '' ? {} : { text: `“${find}”` }),
    hue: 'goal',
    round: true,
    cell,
    op,
  };
};

type Walked = { readonly stops: readonly TrailStop[]; readonly next: Next | null };

const walk = async (context: TrailContext, at: Next, words: string): Promise<Walked> => {
  if (at.type === 'goal') return walkGoal(context, at.cell);
  const explanation = await context.explain(at.cell);
  if (at.type === 'reply') return { stops: [], next: sourceOfReply(explanation, at, words) };
  const segment = explanation.segments.find(({ id }) => id === at.segment);
  return segment === undefined ? { stops: [], next: null } : walkSegment(context, { explanation, segment, words });
};

type At = { readonly explanation: Explanation; readonly segment: ExplainedSegment; readonly words: string };

const walkSegment = (context: TrailContext, at: At): Walked => {
  const { explanation, segment } = at;
  if (crossingsInto(segment, explanation.cell).length > 0) return walkCrossing(context, at);
  const earlier = segment.trail.filter((step) => step.type === 'segment');
  if (earlier.length > 0) return walkEarlier(context, at, earlier);
  const call = segment.trail.find((step) => step.type === 'operation' && !step.name.startsWith('model:'));
  if (call?.type === 'operation') return walkCall(context, at, call);
  const reply = segment.trail.find((step) => step.type === 'operation');
  if (reply?.type === 'operation') {
    const stop = replyStop(at, reply.op, `${explanation.agent} wrote it`);
    return { stops: [stop], next: { type: 'reply', cell: explanation.cell, op: reply.op } };
  }
  return { stops: [fileStop(context, at)], next: null };
};

/** The end of a trail in a file, or in the runtime itself. */
const fileStop = (context: TrailContext, { explanation, segment }: At): TrailStop => {
  const { title, origin } = describePart(segment, { explanation, nameOf: context.nameOf, no: 0 });
  const skill = segment.trail.find((step) => step.type === 'skill');
  if (skill?.type === 'skill')
    return stop(`Skill ${skill.skill} of ${skill.agent}`, 'agent file', 'file', { short: 'a skill' });
  if (origin === 'agent file')
    return stop(`The agent file of ${explanation.agent} says so`, title, 'file', { short: origin });
  return origin === 'your request'
    ? stop('It came with your request', title, 'file', { short: 'you' })
    : stop('The runtime wrote it', title, 'file', { short: 'the runtime' });
};

const stop = (title: string, about: string, hue: Hue, more: Partial<TrailStop> = {}): TrailStop => ({
  title,
  about,
  hue,
  round: false,
  ...more,
});

const replyStop = ({ explanation }: At, op: number, title: string, text?: string): TrailStop => {
  const no = explanation.attempts.findIndex((one) => one.op === op) + 1;
  const about = `operation ${op}, ${no === 0 ? 'own reply' : `request ${no}`}`;
  const short = no === 0 ? explanation.agent : `${explanation.agent}, request ${no}`;
  return stop(title, about, 'work', { short, cell: explanation.cell, op, ...(text === undefined ? {} : { text }) });
};

type Operation = Extract<TrailStep, { type: 'operation' }>;

/** A tool answered what a reply of this room asked; a server listed its tools. */
const walkCall = ({ view }: TrailContext, at: At, { op, name }: Operation): Walked => {
  const { explanation, segment } = at;
  const { cell, agent } = explanation;
  const called = name.slice(name.indexOf(':') + 1);
  if (name.startsWith('tools:'))
    return {
      stops: [stop(`Server ${called} listed it`, `operation ${op}`, 'tool', { short: `server ${called}`, cell, op })],
      next: null,
    };
  const bytes = view.cells.get(cell)?.calls.find((one) => one.op === op)?.bytesOut;
  // What is too long to show whole says at its end how much of it is shown.
  const said = /first (\d+) shown/u.exec(segment.text.slice(-300))?.[1];
  const shown = said === undefined ? new TextEncoder().encode(segment.text).length : Number(said);
  const cut = bytes !== undefined && bytes > shown ? `, ${count(shown)} shown` : '';
  const size = bytes === undefined ? '' : `, ${count(bytes)} bytes out${cut}`;
  const short = toolTitle(called);
  const answered = stop(`${short} answered`, `operation ${op}${size}`, 'tool', { short, cell, op });
  const asking = segment.origin.of.find(({ from }) => from === 'reply');
  if (asking?.from !== 'reply') return { stops: [answered], next: { type: 'goal', cell } };
  const call = callText(explanation, asking.no, called);
  const asked = replyStop(at, asking.no, `${agent} asked for it`, call);
  return { stops: [answered, asked], next: { type: 'reply', cell, op: asking.no } };
};

/** The arguments of a call, as the part that shows the reply has them. */
const callText = ({ segments }: Explanation, op: number, tool: string): string | undefined => {
  const isReply = ({ origin }: ExplainedSegment): boolean =>
    ruleFamily(origin.rule) === 'reply' && origin.of.some((one) => one.from === 'reply' && one.no === op);
  const line = segments
    .find(isReply)
    ?.text.split('\n')
    .find((one) => one.startsWith(`${tool} `));
  return line?.slice(tool.length + 1);
};

/** Older parts that were made shorter. */
const walkEarlier = (context: TrailContext, at: At, steps: readonly TrailStep[]): Walked => {
  const { explanation, segment, words } = at;
  const ids = steps.flatMap((step) => (step.type === 'segment' ? [step.id] : []));
  const holds = (id: number): boolean =>
    words !== '' && explanation.segments.find((one) => one.id === id)?.text.includes(words) === true;
  const { title } = describePart(segment, { explanation, nameOf: context.nameOf, no: 0 });
  const about = `from ${ids.length === 1 ? 'an earlier part' : `${ids.length} earlier parts`}`;
  const next = ids.find(holds) ?? ids[0]!;
  return { stops: [stop(title, about, 'file')], next: { type: 'segment', cell: explanation.cell, segment: next } };
};

/** Several may have crossed together: the trail follows the one that holds the words. */
const walkCrossing = (context: TrailContext, at: At): Walked => {
  const { explanation, segment, words } = at;
  const { cell } = explanation;
  const all = crossingsInto(segment, cell);
  const holds = (from: string): boolean => words !== '' && context.outputOf(from)?.includes(words) === true;
  const chosen = all.length === 1 ? all[0] : all.find(({ from }) => holds(from));
  if (chosen === undefined) {
    const names = all.map(({ from }) => context.nameOf(from)).join(', ');
    const stops = [stop(`${all.length} crossed together`, `from ${names}`, crossingHue(all[0]!.kind), { round: true })];
    const asking = segment.origin.of.find(({ from }) => from === 'reply');
    if (asking?.from !== 'reply') return { stops, next: { type: 'goal', cell } };
    const asked = replyStop(at, asking.no, `${explanation.agent} asked for them`);
    return { stops: [...stops, asked], next: { type: 'reply', cell, op: asking.no } };
  }
  return fromCrossing(context, chosen, senderOperation(context, segment.trail, chosen));
};

type Crossing = Extract<TrailStep, { type: 'crossing' }>;

/** The request in whose reply a sender wrote it. For a message: the newest reply before it was sent. */
const senderOperation = (
  { view }: TrailContext,
  trail: readonly TrailStep[],
  { kind, from, to, sha256 }: Crossing,
): Next | null => {
  if (from === 'outside') return null;
  if (kind === 'message' || kind === 'broadcast') {
    const sentAt = view.crossings.find((one) => one.sha256 === sha256 && one.to === to)?.at ?? Infinity;
    const wrote = view.cells.get(from)?.requests.findLast(({ endedAt }) => endedAt !== null && endedAt <= sentAt);
    if (wrote !== undefined) return { type: 'reply', cell: from, op: wrote.op };
  }
  const [, ...after] = trail.slice(
    trail.findIndex((step) => step.type === 'crossing' && step.sha256 === sha256 && step.from === from),
  );
  const task = after[0]?.type === 'task' ? after[0] : undefined;
  const wrote = task === undefined ? after[0] : after[1];
  return wrote?.type === 'operation' && wrote.cell !== to
    ? { type: 'reply', cell: wrote.cell, op: wrote.op }
    : { type: 'goal', cell: from };
};

const asked: Readonly<Record<string, string>> = {
  goal: 'You asked',
  answer: 'You answered',
  attachment: 'You attached it',
  history: 'It is from earlier messages',
  share: 'You gave it as instructions',
};

const title = (kind: string): string => `${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`;

const fromCrossing = (
  { view, nameOf }: TrailContext,
  { kind, from, to, grant, bytes, sha256 }: Pick<Crossing, 'kind' | 'from' | 'to' | 'grant' | 'bytes' | 'sha256'>,
  next: Next | null,
): Walked => {
  const crossing = view.crossings.find((one) => one.sha256 === sha256 && one.to === to)?.id;
  const text = kind === 'goal' && to !== 'outside' ? view.cells.get(to)?.goal : undefined;
  const more = { ...(text ? { text } : {}), ...(crossing === undefined ? {} : { crossing }) };
  const size = `${count(bytes)} bytes, sha256 ${sha256.slice(0, 8)}`;
  const hue = crossingHue(kind);
  if (from === 'outside')
    return { stops: [stop(asked[kind] ?? 'You wrote it', size, 'file', { short: 'you', ...more })], next: null };
  const arrived = stop(`${title(kind)} crossed from ${nameOf(from)}`, `grant ${grant}, ${size}`, hue, {
    round: true,
    ...more,
  });
  if (next?.type !== 'reply') return { stops: [arrived], next };
  const { cell, op } = next;
  const no = view.cells.get(cell as never)?.requests.findIndex((one) => one.op === op) ?? -1;
  const wrote = stop(
    `${nameOf(cell as never)} wrote ${kind === 'goal' || kind === 'result' ? `that ${kind}` : 'it'}`,
    `operation ${op}${no < 0 ? '' : `, request ${no + 1}`}`,
    'work',
    { short: `${nameOf(cell as never)}${no < 0 ? '' : `, request ${no + 1}`}`, cell, op },
  );
  return { stops: [arrived, wrote], next };
};

/** What a room was asked: how a trail goes on where nothing else is known. */
const walkGoal = (context: TrailContext, cell: string): Walked => {
  const goal = context.view.crossings.find(({ kind, to, grant }) => to === cell && kind === 'goal' && grant !== null);
  if (goal === undefined) return { stops: [], next: null };
  const { kind, from, to, bytes } = goal;
  const crossing = { kind, from, to, bytes, grant: goal.grant ?? '', sha256: (goal.sha256 ?? '') as never };
  return fromCrossing(context, crossing, from === 'outside' ? null : { type: 'goal', cell: from });
};

const outOfFile = new Set(['system', 'tool', 'listed-tool']);
const requests = new Set(['goal', 'task', 'mail', 'received']);

/** The part of its prompt that holds the words, or what it was asked last. */
const sourceOfReply = (
  { attempts, segments, cell }: Explanation,
  { op }: { readonly op: number },
  words: string,
): Next | null => {
  const shown = attempts.find((one) => one.op === op)?.segments ?? [];
  const parts = segments.filter(({ id, origin }) => shown.includes(id) && !outOfFile.has(ruleFamily(origin.rule)));
  const found =
    (words === '' ? undefined : parts.find(({ text }) => text.includes(words))) ??
    parts.findLast(({ origin }) => requests.has(ruleFamily(origin.rule)));
  return found === undefined ? { type: 'goal', cell } : { type: 'segment', cell, segment: found.id };
};
