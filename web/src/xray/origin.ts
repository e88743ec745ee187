// Where each part of a prompt came from, in words and in colour.
//
//   origin-computed. A byte counts as attributed if a part that the record rebuilds has it and that part has an origin: the number that
//       is shown is what is left of the prompt that was sent.
import type { AuditReport, ExplainedSegment, Explanation, TrailStep } from '#contracts';
import { count, formatBytes } from '#headends/run-view';
import { toolTitle } from './hues.ts';
import type { Hue, NameOf } from './hues.ts';

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
  const { attempts, segments, cell, agent } = explanation;
  const index = attempts.findIndex((one) => one.op === op);
  const attempt = attempts[index];
  if (attempt === undefined) return null;
  const byId = new Map(segments.map((segment) => [segment.id, segment]));
  const shown = attempt.segments.flatMap((id) => byId.get(id) ?? []);
  const parts = shown.map((segment, at) => describePart(segment, { explanation, nameOf, no: at + 1 }));
  const known = shown.reduce(
    (sum, segment) => sum + (hasOrigin(segment) && !faulty.has(segment.id) ? segment.bytes : 0),
    0,
  );
  const { model, bytes } = attempt;
  const unattributed = Math.max(0, bytes - known);
  return { cell, agent, op, model, no: index + 1, of: attempts.length, bytes, parts, unattributed };
};

/** Every source that it names leads somewhere. A rule without sources is the runtime's own text. */
const hasOrigin = ({ origin, trail }: ExplainedSegment): boolean => origin.of.length === 0 || trail.length > 0;

type Context = { readonly explanation: Explanation; readonly nameOf: NameOf; readonly no: number };

type Look = readonly [title: string, origin: string, hue: Hue];

export const describePart = (segment: ExplainedSegment, context: Context): PartView => {
  const { id, bytes, text, origin } = segment;
  const [title, words, hue] = (looks[ruleFamily(origin.rule)] ?? unknownLook)(segment, context);
  return { no: context.no, id, title, origin: words, hue, bytes, text };
};

type Crossing = Extract<TrailStep, { type: 'crossing' }>;

/** Those into the cell itself: a trail goes on beyond them. */
export const crossingsInto = ({ trail }: ExplainedSegment, cell: string): readonly Crossing[] =>
  trail.filter((step): step is Crossing => step.type === 'crossing' && step.to === cell);

const sendersOf = (segment: ExplainedSegment, { explanation, nameOf }: Context): string => {
  const names = new Set(crossingsInto(segment, explanation.cell).map(({ from }) => nameOf(from)));
  return [...names].join(', ');
};

const crossed = (segment: ExplainedSegment, { explanation }: Context): string => {
  const all = crossingsInto(segment, explanation.cell);
  const grants = new Set(all.map(({ grant }) => grant));
  const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
  return all.length === 0 ? 'the runtime' : `grant ${[...grants].join(', ')}, ${formatBytes(bytes)} crossed`;
};

const ownOperation = ({ trail }: ExplainedSegment, kind: string): string | undefined => {
  const found = trail.find((step) => step.type === 'operation' && step.name.startsWith(kind));
  return found?.type === 'operation' ? found.name.slice(kind.length) : undefined;
};

const offeredTool = ({ text }: ExplainedSegment): string =>
  toolTitle(/"name":\s*"((?:[^"\\]|\\.)*)"/u.exec(text)?.[1] ?? 'unknown');

const calledTool = (segment: ExplainedSegment): string => {
  const name = ownOperation(segment, 'tool:') ?? ownOperation(segment, 'agent:');
  return name === undefined ? 'a call' : toolTitle(name);
};

const isGiven = ({ trail }: ExplainedSegment): boolean =>
  trail.some((step) => step.type === 'definition' && step.given === true);

const runtime = (title: string) => (): Look => [title, 'the runtime', 'file'];

const from =
  (title: string, hue: Hue) =>
  (segment: ExplainedSegment, context: Context): Look => {
    const senders = sendersOf(segment, context);
    // Nothing crossed: a call that failed, was refused, or found no messages.
    if (senders === '') return [`Output of ${calledTool(segment)}`, 'called in this room', 'tool'];
    return [`${title} ${senders}`, crossed(segment, context), hue];
  };

const goalLook = from('Goal from', 'goal');
const person = (segment: ExplainedSegment, context: Context): Look => [
  'Answer of a person',
  crossed(segment, context),
  'result',
];

const looks: Readonly<Record<string, (segment: ExplainedSegment, context: Context) => Look>> = {
  system: (_, { explanation }) => [`Prompt of ${explanation.agent}`, 'agent file', 'file'],
  tool: (segment) => [`Tool ${offeredTool(segment)}`, isGiven(segment) ? 'your request' : 'agent file', 'file'],
  'given-tool': (segment, context) => [`Tool ${offeredTool(segment)}`, crossed(segment, context), 'goal'],
  'listed-tool': (segment) => [
    `Tool ${offeredTool(segment)}`,
    `server ${ownOperation(segment, 'tools:') ?? 'unknown'}`,
    'tool',
  ],
  goal: goalLook,
  task: goalLook,
  reply: (segment, { explanation }) => {
    const [source] = segment.origin.of;
    const op = source?.from === 'reply' ? source.no : -1;
    const no = explanation.attempts.findIndex((one) => one.op === op) + 1;
    return [no === 0 ? 'Own reply' : `Own reply, request ${count(no)}`, 'written in this room', 'work'];
  },
  'tool-result': (segment) => [`Output of ${calledTool(segment)}`, 'called in this room', 'tool'],
  shorten: (segment) => [`Output of ${calledTool(segment)}, shortened`, 'called in this room', 'tool'],
  'child-result': from('Result of', 'result'),
  gather: from('Results of', 'result'),
  denied: person,
  answered: person,
  edited: person,
  mail: from('Message from', 'mail'),
  received: from('Messages from', 'mail'),
  'task-messages': from('Messages from', 'mail'),
  routed: from('Context passed on by', 'mail'),
  dependency: (segment, context) => {
    const task = segment.trail.find((step) => step.type === 'task');
    const name = task?.type === 'task' ? ` “${task.title}”` : '';
    return [`Result of task${name}`, crossed(segment, context), 'mail'];
  },
  synthesis: (segment, context) => ['Results of all tasks', crossed(segment, context), 'mail'],
  summary: (segment, context) => ['Older messages, summarised', crossed(segment, context), 'mail'],
  compact: runtime('Older messages, compacted'),
  recap: runtime('Older messages, compacted'),
  history: from('Earlier messages from', 'goal'),
  attachment: from('File from', 'goal'),
  share: from('Shared by', 'goal'),
  'shared-system': from('Prompt shared by', 'goal'),
  note: runtime('Note of the runtime'),
  deferred: runtime('Note of the runtime'),
  'left-out': runtime('Note of the runtime'),
  'last-turn': runtime('Note of the runtime'),
  repair: runtime('Note of the runtime'),
};

const unknownLook = ({ origin }: ExplainedSegment): Look => [origin.rule, 'the runtime', 'file'];

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
