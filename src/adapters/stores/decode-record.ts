// Decodes stored records: the one place where a text from the disk becomes a frame or a record of the workspace log.
//
//   decoded-has-its-form. What is decoded has the fields of its type, each of its kind, as deep as every reader relies on them. Values
//       that a tool or a model returned may be anything.
//
// Fields that this build does not know are kept: they come from another build. These are not shapes (`base/shapes`), which say what is
// wrong with what people wrote: here a yes or no is enough, and every record that is read is checked.
import { isObject } from '#base';
import type { Frame, FrameRecord, WorkspaceEntry, WorkspaceRecord } from '#contracts';

/** Undefined if it is not one. */
export const decodeFrame = (body: unknown): Frame | undefined => {
  const value = parse(body);
  return fitsFrame(value) ? (value as Frame) : undefined;
};

/** Undefined if it is not one. */
export const decodeWorkspaceEntry = (body: unknown): WorkspaceEntry | undefined => {
  const value = parse(body);
  return fitsEntry(value) ? (value as WorkspaceEntry) : undefined;
};

const parse = (body: unknown): unknown => {
  try {
    return typeof body === 'string' ? JSON.parse(body) : undefined;
  } catch {
    return undefined;
  }
};

type Fits = (value: unknown) => boolean;

const anything: Fits = () => true;
const text: Fits = (value) => typeof value === 'string';
const number: Fits = (value) => typeof value === 'number';
const flag: Fits = (value) => typeof value === 'boolean';
const orNull =
  (fits: Fits): Fits =>
  (value) =>
    value === null || fits(value);
const oneOf =
  (...values: readonly string[]): Fits =>
  (value) =>
    typeof value === 'string' && values.includes(value);
const listOf =
  (fits: Fits): Fits =>
  (value) =>
    Array.isArray(value) && value.every(fits);

const object = (required: Readonly<Record<string, Fits>>, optional: Readonly<Record<string, Fits>> = {}): Fits => {
  const [needed, others] = [Object.entries(required), Object.entries(optional)];
  return (value) =>
    isObject(value) &&
    needed.every(([key, fits]) => fits(value[key])) &&
    others.every(([key, fits]) => value[key] === undefined || fits(value[key]));
};

/** Fits the form of its `type`. */
const byType =
  <T extends string>(forms: Readonly<Record<T, Fits>>): Fits =>
  (value) => {
    const type = isObject(value) ? value['type'] : undefined;
    return typeof type === 'string' && Object.hasOwn(forms, type) && forms[type as T](value);
  };

// Frames.

const amounts: Fits = (value) => isObject(value) && Object.values(value).every((one) => one === null || number(one));
const failure = object({ code: text }, { detail: text });
const status = oneOf('completed', 'partial', 'failed', 'cancelled', 'limit', 'budget', 'timeout');
const spent = object(
  { inputTokens: number, outputTokens: number, usd: orNull(number), ms: number, steps: number, spawns: number },
  { cacheReadTokens: number, cacheWriteTokens: number, uncertain: number },
);
const spawnedOutcome = object({ agent: text, cell: text, status, why: orNull(text), output: text });
const outcome = object(
  { status, output: text, failure: orNull(failure), missing: listOf(text), spent },
  { spawned: listOf(spawnedOutcome) },
);
const birth = object(
  { cell: text, parent: orNull(text), agent: text, digest: text, depth: number, caps: amounts, deadline: number },
  {
    groupTokens: number,
    spawned: object({ name: text }),
    task: object({}),
    floor: amounts,
    passedOver: listOf(object({ model: text, missing: listOf(text) })),
  },
);
const question = object(
  { tool: text, args: isObject, argsHash: text, why: text },
  { unknown: number, rule: object({}) },
);
const halted = object({ at: number, failure });
const ended = object({ cell: text, outcome });
const kind = oneOf('step', 'child', 'sleep', 'receive', 'ask');
const env = listOf(text);

const record = byType<FrameRecord['type']>({
  open: object({ birth }, { recordedBy: object({}), caller: text, requestHash: text, env, started: object({}) }),
  begin: object(
    { op: number, do: kind, name: text },
    { hold: amounts, about: isObject, until: number, question, birth },
  ),
  settle: object(
    { op: number, ok: flag },
    { halted, ms: number, failure, cost: object({}), uncertain: amounts, ended },
  ),
  held: object({ op: number }),
  again: object({ op: number, uncertain: amounts }),
  resume: object({ downMs: number, build: text }, { env }),
  fork: object(
    { from: object({ run: text, frames: number, hash: text, at: text, forkedAt: number }), amendment: object({}) },
    { caller: text },
  ),
  give: object({ to: text }),
  post: object({ op: number, name: text, ok: flag }, { about: isObject, failure, halted }),
  mail: object({ to: text }, { dead: object({}) }),
  delivered: object({ messages: listOf(text) }),
  ruling: object(
    { op: number, by: text, right: text, verdict: text, argsHash: text },
    { args: isObject, reason: text },
  ),
  cancel: anything,
  close: object({ outcome }),
});

const entry = object({
  seq: number,
  at: number,
  way: text,
  kind: text,
  other: text,
  grant: orNull(text),
  sha256: text,
  bytes: number,
  labels: listOf(text),
  verdict: text,
});
const link = object({ cell: text, entries: listOf(entry), previous: text, hash: text });
const content = object({ cell: text, seq: number, kind: text, from: text, to: text, content: text });
const origin = object({ rule: text, of: listOf(object({})) }, { with: listOf(number) });
const segment = object({ id: number, origin, category: text, bytes: number });
const range = listOf(number);
const added = object({ add: listOf(segment) });
const replaced = object({ replace: range, by: segment });
const dropped = object({ drop: range, rule: text });
const change: Fits = (value) => added(value) || replaced(value) || dropped(value);
const attempt = object({
  turn: number,
  model: text,
  settings: text,
  changes: listOf(change),
  prompt: text,
  bytes: number,
});
const tool = object({ name: text, description: text });
const definition = object(
  {
    prompt: text,
    guidance: text,
    tools: listOf(tool),
    sources: listOf(text),
    input: object({}),
    output: object({}),
    grants: listOf(text),
    limits: object({}),
    settings: object({}),
    budget: object({}),
  },
  { skills: listOf(object({})), share: listOf(text), messages: listOf(text), team: object({}), given: listOf(text) },
);

const fitsFrame = object(
  { run: text, no: number, at: number, cell: text, record },
  {
    links: listOf(link),
    contents: listOf(content),
    attempt,
    stalls: listOf(object({ cell: text, count: number, longestMs: number })),
    ids: listOf(text),
    definitions: listOf(object({ digest: text, definition })),
  },
);

// The workspace log.

const conversation = object({ agent: text, name: text });
const checkpoint = object({ id: text, agent: text, run: text, frames: number });
const turn = object({ agent: text, run: text, frames: orNull(number) });
const ofConversation = object({ conversation });
const ofAgent = object({ conversation, agent: text });
const tombstone = object({
  run: text,
  startedAt: orNull(number),
  endedAt: orNull(number),
  frames: number,
  head: orNull(text),
  deletedAt: number,
  by: text,
  why: text,
});

const workspaceRecord = byType<WorkspaceRecord['type']>({
  turn: object({ conversation, agent: text, run: text }),
  attach: ofAgent,
  detach: ofAgent,
  delete: ofConversation,
  undelete: ofConversation,
  purge: ofConversation,
  checkpoint: object({ checkpoint }),
  forget: object({ checkpoints: listOf(text) }),
  restore: object({ checkpoint: text, conversation: orNull(conversation), run: orNull(text) }),
  branch: object(
    { checkpoint: text, conversation: orNull(conversation), entries: orNull(text), run: orNull(text) },
    { before: number, turns: listOf(turn) },
  ),
  tombstone: object({ tombstone }),
  import: object({ run: text, frames: number, head: text, by: text }),
});

const fitsEntry = object({ no: number, at: number, record: workspaceRecord });
