// Where each part of a prompt came from, in words and in colour.
//
//   origin-computed. A byte counts as attributed if a part that the record rebuilds has it and that part has an origin: the number that
//       is shown is what is left of the prompt that was sent.
import type { AuditReport, ExplainedSegment, Explanation, TrailStep } from '#contracts';
import { count, formatBytes } from '#headends/run-view';
import { toolText } from '../rooms/texts.ts';

/** The colours that say what kind of content something is; `file`: what an agent file or the runtime says. */
export type Hue = 'file' | 'goal' | 'result' | 'mail' | 'work' | 'tool';

/** The name of a room; `you` for the outside. */
export type NameOf = (end: string) => string;

export type PartView = {
  /** Its place in the prompt, from 1. */
  readonly no: number;
  readonly id: number;
  readonly title: string;
  /** Where it came from: `agent file`, `grant goal, 63 B crossed`. */
  readonly origin: string;
  readonly hue: Hue;
  readonly bytes: number;
  readonly text: string;
};

export type RequestView = {
  readonly cell: string;
  readonly agent: string;
  readonly op: number;
  readonly model: string;
  /** The request, counted from 1, of so many. */
  readonly no: number;
  readonly of: number;
  readonly bytes: number;
  readonly parts: readonly PartView[];
  /** Bytes of this prompt without an origin. */
  readonly unattributed: number;
};

export const ruleFamily = (rule: string): string => rule.slice(0, rule.lastIndexOf('@'));

/** The parts of a cell's prompts that the audit could not rebuild from the records. */
export const faultyParts = (audit: AuditReport | null, cell: string): ReadonlySet<number> =>
  new Set(
    audit?.problems.flatMap(({ where, message }) => {
      const id = where.includes(`cell ${cell}, operation`) ? /^segment (\d+):/u.exec(message)?.[1] : undefined;
      return id === undefined ? [] : [Number(id)];
    }),
  );

/** Null: this cell made no such request. `faulty`: parts whose origin does not hold. */
export const readRequest = (
  explanation: Explanation,
  op: number,
  nameOf: NameOf,
  faulty: ReadonlySet<number> = new Set(),
): RequestView | null => {
  const { attempts, cell, agent } = explanation;
  const index = attempts.findIndex((one) => one.op === op);
  const attempt = attempts[index];
  if (attempt === undefined) return null;
  const shown = segmentsShown(explanation, op);
  const parts = shown.map((segment, at) => describePart(segment, { explanation, nameOf, no: at + 1 }));
  const known = shown.reduce(
    (sum, segment) => sum + (hasOrigin(segment) && !faulty.has(segment.id) ? segment.bytes : 0),
    0,
  );
  const { model, bytes } = attempt;
  const unattributed = Math.max(0, bytes - known);
  return { cell, agent, op, model, no: index + 1, of: attempts.length, bytes, parts, unattributed };
};

/** What a request showed, in the order of its prompt. */
export const segmentsShown = ({ segments }: Explanation, op: number): readonly ExplainedSegment[] =>
  segments.filter(({ shownIn }) => shownIn !== null && shownIn.first <= op && op <= shownIn.last);

/** Every source that it names leads somewhere. A rule without sources is the runtime's own text. */
const hasOrigin = ({ origin, trail }: ExplainedSegment): boolean => origin.of.length === 0 || trail.length > 0;

type Context = { readonly explanation: Explanation; readonly nameOf: NameOf; readonly no: number };

type Look = readonly [title: string, origin: string, hue: Hue];

export const describePart = (segment: ExplainedSegment, context: Context): PartView => {
  const { id, bytes, text } = segment;
  const [title, origin, hue] = lookOf(segment, context);
  return { no: context.no, id, title, origin, hue, bytes, text };
};

type Crossing = Extract<TrailStep, { type: 'crossing' }>;

/** Those into the cell itself: a trail goes on beyond them. */
export const crossingsInto = ({ trail }: ExplainedSegment, cell: string): readonly Crossing[] =>
  trail.filter((step): step is Crossing => step.type === 'crossing' && step.to === cell);

const ownOperation = ({ trail }: ExplainedSegment, kind: string): string | undefined =>
  trail.flatMap((step) =>
    step.type === 'operation' && step.name.startsWith(kind) ? [step.name.slice(kind.length)] : [],
  )[0];

/** The operation in whose reply it was written, or asked for. */
export const replyOf = ({ origin }: ExplainedSegment): number | undefined =>
  origin.of.flatMap((one) => (one.from === 'reply' ? [one.no] : []))[0];

const runtime = 'the runtime';

/** What came from other rooms: how a part with what crossed is called, and its colour. */
const crossed: Readonly<Record<string, readonly [title: string, hue: Hue]>> = {
  goal: ['Goal from', 'goal'],
  task: ['Goal from', 'goal'],
  'child-result': ['Result of', 'result'],
  gather: ['Results of', 'result'],
  mail: ['Message from', 'mail'],
  received: ['Messages from', 'mail'],
  'task-messages': ['Messages from', 'mail'],
  routed: ['Context passed on by', 'mail'],
  history: ['Earlier messages from', 'goal'],
  attachment: ['File from', 'goal'],
  share: ['Shared by', 'goal'],
  'shared-system': ['Prompt shared by', 'goal'],
};

const lookOf = (segment: ExplainedSegment, { explanation, nameOf }: Context): Look => {
  const { origin, text, trail } = segment;
  const all = crossingsInto(segment, explanation.cell);
  const names = (which: readonly string[]): string => [...new Set(which)].join(', ');
  const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
  const grants =
    all.length === 0 ? runtime : `grant ${names(all.map(({ grant }) => grant))}, ${formatBytes(bytes)} crossed`;
  const offered = `Tool ${toolText(/"name":\s*"((?:[^"\\]|\\.)*)"/u.exec(text)?.[1] ?? 'unknown')}`;
  const called = `Output of ${toolText(ownOperation(segment, 'tool:') ?? ownOperation(segment, 'agent:') ?? 'a call')}`;
  const here = 'called in this room';
  const rule = ruleFamily(origin.rule);
  const sent = crossed[rule];
  // Nothing crossed: a call that failed, was refused, or found no messages.
  if (sent !== undefined)
    return all.length === 0
      ? [called, here, 'tool']
      : [`${sent[0]} ${names(all.map(({ from }) => nameOf(from)))}`, grants, sent[1]];
  switch (rule) {
    case 'system':
      return [`Prompt of ${explanation.agent}`, 'agent file', 'file'];
    case 'tool': {
      const isGiven = trail.some((step) => step.type === 'definition' && step.given === true);
      return [offered, isGiven ? 'your request' : 'agent file', 'file'];
    }
    case 'given-tool':
      return [offered, grants, 'goal'];
    case 'listed-tool':
      return [offered, `server ${ownOperation(segment, 'tools:') ?? 'unknown'}`, 'tool'];
    case 'reply': {
      const no = explanation.attempts.findIndex((one) => one.op === replyOf(segment)) + 1;
      return [`Own reply${no === 0 ? '' : `, request ${count(no)}`}`, 'written in this room', 'work'];
    }
    case 'tool-result':
      return [called, here, 'tool'];
    case 'shorten':
      return [`${called}, shortened`, here, 'tool'];
    case 'denied':
    case 'answered':
    case 'edited':
      return ['Answer of a person', grants, 'result'];
    case 'dependency': {
      const task = trail.find((step) => step.type === 'task');
      return [`Result of task${task === undefined ? '' : ` “${task.title}”`}`, grants, 'mail'];
    }
    case 'synthesis':
      return ['Results of all tasks', grants, 'mail'];
    case 'summary':
      return ['Older messages, summarised', grants, 'mail'];
    case 'compact':
    case 'recap':
      return ['Older messages, compacted', runtime, 'file'];
    case 'note':
    case 'deferred':
    case 'left-out':
    case 'last-turn':
    case 'repair':
      return ['Note of the runtime', runtime, 'file'];
    default:
      return [origin.rule, runtime, 'file'];
  }
};

const groupNames: Readonly<Record<Hue, string>> = {
  file: 'agent file',
  goal: 'crossed in',
  result: 'results in',
  mail: 'messages in',
  work: 'own words',
  tool: 'tools',
};

/** What the prompt consists of, by colour, in the order in which they appear. */
export const groupParts = (
  parts: readonly PartView[],
): readonly { readonly hue: Hue; readonly name: string; readonly bytes: number }[] => {
  const bytes = new Map<Hue, number>();
  for (const part of parts) bytes.set(part.hue, (bytes.get(part.hue) ?? 0) + part.bytes);
  return [...bytes].map(([hue, sum]) => ({ hue, name: groupNames[hue], bytes: sum }));
};
