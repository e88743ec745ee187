// Conversations, checkpoints and windows of the fake runtime: foreign text wherever foreign text can appear.
import { CloisterError } from '#base';
import type { Hash } from '#base';
import type {
  CellWindow,
  Checkpoint,
  CheckpointDiff,
  Checkpoints,
  Conversation,
  ConversationRef,
  Conversations,
  ConversationSummary,
  RunSession,
  WindowPart,
} from '#contracts';
import { childId, leadId, runId, startAt } from './scene.ts';
import type { Scene } from './scene.ts';

/** What exists, and a record of the calls. */
export type ConversationFixture = {
  readonly conversations?: readonly ConversationSummary[];
  readonly checkpoints?: readonly Checkpoint[];
  /** These other agents are attached to every conversation. */
  readonly sharedWith?: string;
  /** Nothing was in flight when the checkpoints were taken. */
  readonly nothingInFlight?: boolean;
  readonly diff?: CheckpointDiff;
  readonly asked?: unknown[][];
};

export const conversation = (given: Scene, over: Partial<ConversationSummary> = {}): ConversationSummary => ({
  agent: given.agent,
  name: 'trip',
  attached: [],
  turns: 3,
  startedAt: startAt,
  newestAt: startAt + 60_000,
  running: [],
  branchedFrom: null,
  deletedAt: null,
  ...over,
});

export const checkpoint = (given: Scene, over: Partial<Checkpoint> = {}): Checkpoint => ({
  format: 1,
  id: 'c0ffee123456',
  agent: given.agent,
  run: runId,
  conversation: { agent: given.agent, name: 'trip' },
  frames: 17,
  hash: 'ab'.repeat(32) as Hash,
  at: startAt + 5000,
  why: 'asked',
  label: given.goal,
  ...over,
});

const entriesOf = ({ agent, childAgent, goal, answer }: Scene): Conversation['entries'] => {
  const entry = (no: number, from: string, to: string, text: string, category: 'DIALOG' | 'CONTEXT' = 'DIALOG') => ({
    id: `${runId}/${no}`,
    agent_id: from,
    recipient_id: to,
    message_type: from === 'person' ? ('message' as const) : ('result' as const),
    category,
    correlation: runId,
    at: startAt + no * 1000,
    text,
  });
  return [
    entry(0, 'person', agent, 'It rains.', 'CONTEXT'),
    entry(1, 'person', agent, goal),
    entry(2, agent, 'person', answer),
    entry(3, childAgent, 'person', answer),
  ];
};

export const fakeConversations = (given: Scene, talk: ConversationFixture = {}): Conversations => {
  const all = talk.conversations ?? [conversation(given, { attached: [given.childAgent] })];
  const note =
    (name: string) =>
    async (...asked: unknown[]): Promise<void> => {
      talk.asked?.push([name, ...asked]);
    };
  return {
    list: async ({ agent, deleted = false } = {}) =>
      all.filter((one) => (agent === undefined || one.agent === agent) && (deleted || one.deletedAt === null)),
    turns: async () => [],
    show: async (ref: ConversationRef) => ({
      ...all.find(({ agent, name }) => agent === ref.agent && name === ref.name)!,
      entries: entriesOf(given),
    }),
    export: async ({ name }) => `/work/space/.cloister/conversations/${name}.json`,
    attach: note('attach'),
    detach: note('detach'),
    delete: async (ref, options) => {
      talk.asked?.push(['delete', ref, options]);
      if (talk.sharedWith !== undefined && options?.force !== true)
        throw new CloisterError('conversation_shared', `Attached: ${talk.sharedWith}.`);
    },
    restore: note('restore'),
    purge: note('purge'),
  };
};

export const checkpointDiff = (given: Scene): CheckpointDiff => ({
  one: checkpoint(given),
  other: checkpoint(given, { id: 'c1ffee123456', frames: 21 }),
  cells: {
    added: [given.childAgent],
    removed: [],
    changed: [
      { cell: leadId, agent: given.agent, windowBytes: [900, 1200], steps: [1, 2], status: ['running', given.tool] },
    ],
  },
  files: { added: ['notes.md'], removed: [], changed: [given.goal] },
  tokens: [1200, 2400],
  crossings: [3, 3],
});

export const fakeCheckpoints = (
  given: Scene,
  talk: ConversationFixture = {},
  session: () => RunSession,
): Checkpoints => {
  const all = talk.checkpoints ?? [checkpoint(given)];
  const goesOn = (): RunSession | null => (talk.nothingInFlight === true ? null : session());
  return {
    list: async ({ agent } = {}) => all.filter((one) => agent === undefined || one.agent === agent),
    show: async () => ({ checkpoint: checkpoint(given), continues: true, cells: [], files: [] }),
    create: async (run, options) => {
      talk.asked?.push(['create', run, options]);
      return checkpoint(given, { label: options?.label ?? '' });
    },
    restore: async (id) => {
      talk.asked?.push(['restore', id]);
      return goesOn();
    },
    branch: async (id, options) => {
      talk.asked?.push(['branch', id, options]);
      const { agent = given.agent, name = 'trip-2' } = options ?? {};
      return { conversation: { agent, name }, session: goesOn() };
    },
    diff: async (one, other) => {
      talk.asked?.push(['diff', one, other]);
      return talk.diff ?? checkpointDiff(given);
    },
    applyRetention: async () => [],
  };
};

const part = (messages: number, tokens: number): WindowPart => ({ messages, bytes: tokens * 4, tokens });

export const windowsOf = (given: Scene): readonly CellWindow[] => [
  {
    cell: leadId,
    parent: null,
    agent: given.agent,
    model: given.model,
    limit: { tokens: 96_000, by: 'default' },
    total: part(12, 48_000),
    categories: { SYSTEM: part(3, 12_000), CONTEXT: part(1, 10), DIALOG: part(4, 12_000), TOOLS: part(4, 23_990) },
    happened: [],
  },
  {
    cell: childId,
    parent: leadId,
    agent: given.childAgent,
    model: given.model,
    limit: { tokens: 8000, by: 'model' },
    total: part(3, 7900),
    categories: { SYSTEM: part(1, 400), CONTEXT: part(1, 7000), DIALOG: part(1, 500), TOOLS: part(0, 0) },
    happened: [
      { at: startAt, op: 1, turn: 1, what: 'clamped', window: { tokens: 8000, by: 'model' }, was: 96_000 },
      { at: startAt + 1000, op: 2, turn: 1, what: 'offloaded', tool: given.tool, output: given.goal, bytes: 123_456 },
      {
        at: startAt + 2000,
        op: 3,
        turn: 2,
        what: 'compacted',
        messages: 4,
        bytesBefore: 40_000,
        bytesAfter: 1200,
      },
      { at: startAt + 2000, op: 3, turn: 2, what: 'dropped', messages: 1, bytesBefore: 400, bytesAfter: 0 },
    ],
  },
];
