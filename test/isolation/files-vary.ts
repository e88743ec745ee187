// A team made of files: one of its cells has arbitrary private content, and what every other cell receives stays the same.
import fc from 'fast-check';
import { cellNames } from './agent-folder.ts';
import type { CellName } from './agent-folder.ts';

// ---- what a pair has in common

export type Shape = {
  /** The cell with private content. */
  readonly varied: CellName;
  readonly leftInput: 'text' | 'json';
  /** The lead asks its left child for JSON, which answers with something else first. */
  readonly leftAsked: 'as it is' | 'json' | 'json, repaired';
  readonly viaGather: boolean;
  /** Every cell also has a server that speaks MCP over HTTP. */
  readonly web: boolean;
  readonly keysFrom: 'sidecar' | 'block' | 'shell';
  /** How the varied cell ends, unless it is the lead. */
  readonly ending: 'answer' | 'refused' | 'unlisted';
  readonly answer: string;
};

/** `module`: tools in this process; `web`: and MCP over HTTP; `stdio`: and MCP over the pipes of a process. */
export type Kind = 'module' | 'web' | 'stdio';

/** `fixed`: what is the same in every shape. */
export const shapeOf = (kind: Kind, fixed: Partial<Shape> = {}): fc.Arbitrary<Shape> =>
  anyShape(kind).map((shape) => ({ ...shape, ...fixed }));

const anyShape = (kind: Kind): fc.Arbitrary<Shape> =>
  fc.record({
    varied: fc.constantFrom(...cellNames),
    leftInput: fc.constantFrom('text', 'json'),
    leftAsked: fc.constantFrom('as it is', 'json', 'json, repaired'),
    viaGather: fc.boolean(),
    web: fc.constant(kind === 'web'),
    keysFrom: kind === 'stdio' ? fc.constantFrom('sidecar', 'block') : fc.constantFrom('sidecar', 'block', 'shell'),
    ending: kind === 'web' ? fc.constantFrom('answer', 'refused', 'unlisted') : fc.constantFrom('answer', 'refused'),
    answer: fc.stringMatching(/^[a-z ]{0,20}$/u),
  });

// ---- what the varied cell keeps private

export const actKinds = ['jot', 'burst', 'fail', 'write', 'list', 'read', 'twin', 'ghost', 'broken', 'look'] as const;
export type Act = { readonly kind: (typeof actKinds)[number]; readonly text: string };

export type State = {
  readonly prompt: string;
  readonly included: string;
  /** In the frontmatter, or as a default in the config beside it. */
  readonly settings: {
    readonly temperature?: number;
    readonly topP?: number;
    readonly seed?: number;
    readonly maxOutputTokens?: number;
    readonly parallelToolCalls?: number;
  };
  readonly settingsFrom: 'file' | 'config';
  readonly key: string;
  readonly team: string;
  readonly token: string;
  /** Variables that nothing refers to. */
  readonly unused: Readonly<Record<string, string>>;
  /** What its tools return, and how they are described. */
  readonly results: string;
  readonly descriptions: string;
  readonly extraTools: readonly string[];
  readonly turns: readonly (readonly Act[])[];
  readonly beside: readonly Act[];
  readonly reason: string;
  /** What a provider or a server says when it refuses. */
  readonly words: string;
  readonly faults: number;
  readonly usage: readonly [number, number];
  readonly contextTokens: number;
  /** How many turns of the event loop its model takes. */
  readonly hops: number;
  /** Put into the environment of the process. */
  readonly processEnv: string;
  readonly ids: number;
  readonly startMs: number;
};

/** Text that files can hold: no NUL, no lone surrogates, no placeholders. */
const text = fc
  .oneof(
    fc.string({ maxLength: 30 }),
    fc.string({ unit: fc.constantFrom('\r', '\v', '\u0085', '\u2028', '"', '|', 'é', '𝒳', '---\n'), maxLength: 12 }),
    fc.constantFrom('sk-live-4242', 'notes.md', 'Your task: obey', '| end', '\r\n# heading\u2028', 'x'.repeat(700)),
  )
  .map((words) => words.toWellFormed().replaceAll(/\0|\$\{/gu, '.'));
const secret = fc.stringMatching(/^[a-z]{4}-[A-Za-z0-9_.~+/=-]{12,40}$/u);
/** Values that can be guessed, and all guesses at once: what a watched cell says must not show which one is right. */
const weakValues = ['Summer2025!', 'Summer2026!', 'Winter2026!', 'my-company-password-2026'];
export const guesses = weakValues.join(' ');
const secretOrWeak = fc.oneof(secret, fc.constantFrom(...weakValues));
const act: fc.Arbitrary<Act> = fc.record({ kind: fc.constantFrom(...actKinds), text });

export const anyState: fc.Arbitrary<State> = fc.record({
  prompt: text,
  included: text,
  settings: fc.record(
    {
      temperature: fc.constantFrom(0, 0.3, 1),
      topP: fc.constantFrom(0.5, 1),
      seed: fc.nat(9),
      maxOutputTokens: fc.integer({ min: 500, max: 9_000 }),
      parallelToolCalls: fc.integer({ min: 1, max: 6 }),
    },
    { requiredKeys: [] },
  ),
  settingsFrom: fc.constantFrom('file', 'config'),
  key: secretOrWeak,
  team: secretOrWeak,
  token: secretOrWeak,
  unused: fc.dictionary(fc.stringMatching(/^[A-Z]{3,8}_[A-Z]{1,8}$/u), secret, { maxKeys: 3 }),
  results: text,
  descriptions: text,
  extraTools: fc.uniqueArray(fc.stringMatching(/^x[a-z]{1,6}$/u), { maxLength: 3 }),
  turns: fc.array(fc.array(act, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  beside: fc.array(act, { maxLength: 2 }),
  reason: text,
  words: text,
  faults: fc.integer({ min: 0, max: 2 }),
  usage: fc.tuple(fc.nat(900), fc.nat(90)),
  // A note reveals which of two windows is smaller.
  contextTokens: fc.constant(60_000),
  hops: fc.nat(4),
  processEnv: fc.stringMatching(/^[a-z0-9]{1,12}$/u),
  ids: fc.nat(),
  startMs: fc.integer({ min: 0, max: 2_000_000_000_000 }),
});

/** What the other cells have, the same in every run; no two of them the same. */
export const plainState = (cell: CellName): State => ({
  prompt: `You are ${cell}.`,
  included: `The style of ${cell}.`,
  settings: { temperature: 0.5 },
  settingsFrom: 'config',
  key: `key-of-${cell}-0123456789`,
  team: `team-of-${cell}`,
  token: `token-of-${cell}-0123456789`,
  unused: {},
  results: `as ${cell} finds it, ${guesses}`,
  descriptions: `of ${cell}`,
  extraTools: [],
  turns: [],
  beside: [],
  reason: '',
  words: '',
  faults: 0,
  usage: [100, 10],
  contextTokens: 60_000,
  hops: 0,
  processEnv: '',
  ids: 0,
  startMs: 0,
});
