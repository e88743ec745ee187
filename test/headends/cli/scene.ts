// One run of a lead and its children, in every form in which the runtime reports it. Foreign text can be put anywhere.
import { errorCatalogue, limitBehind, omitUndefined } from '#base';
import type { CellId, Failure, Hash, RunId } from '#base';
import type {
  AuditReport,
  Cause,
  CellReport,
  DurableEvent,
  Explanation,
  Figures,
  RunOutcome,
  RunReport,
  RunSummary,
  ShownPart,
  Spent,
  Stalls,
  Status,
  Transcript,
  TranscriptCell,
  TranscriptOptions,
} from '#contracts';

export const startAt = new Date(2026, 2, 1, 12, 0, 0).getTime();
export const runId = '4f2a9c01d3e5' as RunId;
export const forkId = '77aa0b1c2d3e' as RunId;
export const leadId = 'lead-ab12cd34ef56' as CellId;
export const childId = 'researcher-12ab34cd56ef' as CellId;
const sha = 'ab'.repeat(32) as Hash;

export const spent = (over: Partial<Spent> = {}): Spent => ({
  inputTokens: 12_345,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 678,
  usd: 0.0123,
  ms: 4200,
  steps: 2,
  spawns: 1,
  uncertain: 0,
  ...over,
});

/** Foreign text wherever foreign text can appear. */
const noStalls: Stalls = { count: 0, longestMs: 0 };

export type Scene = {
  /** Of the lead. */
  readonly stalls: Stalls;
  readonly agent: string;
  readonly childAgent: string;
  readonly goal: string;
  readonly answer: string;
  readonly tool: string;
  readonly model: string;
  readonly status: Status;
  readonly failure: Failure | null;
  readonly childFailure: Failure | null;
  /** The models that the child did without. */
  readonly passedOver: readonly string[] | null;
  readonly usd: number | null;
  readonly uncertain: number;
  readonly refused: boolean;
  readonly children: number;
  /** The first child ends after all others. */
  readonly lingers: boolean;
  readonly auditOk: boolean;
  readonly found: readonly number[];
};

export const scene = (over: Partial<Scene> = {}): Scene => ({
  agent: 'lead',
  stalls: noStalls,
  childAgent: 'researcher',
  goal: 'Compare SQLite and DuckDB',
  answer: 'SQLite for rows,\nDuckDB for columns.',
  tool: 'search',
  model: 'rehearsal',
  status: 'completed',
  failure: null,
  childFailure: null,
  passedOver: null,
  usd: 0.0123,
  uncertain: 0,
  refused: false,
  children: 1,
  lingers: false,
  auditOk: true,
  found: [4],
  ...over,
});

type Envelope = 'agent_id' | 'recipient_id' | 'message_type' | 'correlation_id';
type EventBody = DurableEvent extends infer E
  ? E extends DurableEvent
    ? Omit<E, 'id' | 'run' | 'at' | Envelope>
    : never
  : never;

export const enveloped = ({ agent, type }: Pick<DurableEvent, 'agent' | 'type'>): Pick<DurableEvent, Envelope> => ({
  agent_id: agent,
  recipient_id: null,
  message_type: type,
  correlation_id: null,
});

export const childIds = ({ children }: Scene): readonly CellId[] =>
  Array.from({ length: children }, (_, index) =>
    index === 0 ? childId : (`${childId.slice(0, -4)}${1000 + index}` as CellId),
  );

const modelSizes = { bytesIn: 900, charsIn: 890, bytesOut: 50, charsOut: 45 };
const toolSizes = { bytesIn: 20, charsIn: 20, bytesOut: 40, charsOut: 40 };

export const eventsOf = (given: Scene): readonly DurableEvent[] => {
  const { agent, childAgent, goal, tool, model, usd, uncertain } = given;
  const lead = { cell: leadId, agent };
  const modelEnd = {
    type: 'model-end',
    ok: true,
    provider: model,
    model,
    inputTokens: 1200,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 300,
    usd,
    uncertain,
    ms: 900,
    ...modelSizes,
    calls: 1,
    error: null,
  } as const;
  const kids = childIds(given);
  const child = (cell: CellId): readonly EventBody[] => {
    const own = { cell, agent: childAgent };
    return [
      {
        ...own,
        type: 'session-start',
        parent: leadId,
        tool: childAgent,
        depth: 1,
        goal,
        ...(given.passedOver && { passedOver: given.passedOver }),
      },
      { ...own, type: 'model-start', op: 1, turn: 1, model, promptBytes: 900 },
      { ...own, ...modelEnd, op: 1 },
      { ...own, type: 'tool-start', op: 2, tool, args: `{"query":"${goal}"}` },
      { ...own, type: 'tool-end', op: 2, tool, ok: true, ms: 12, ...toolSizes, output: null, error: null },
      { ...own, type: 'session-end', status: 'completed', spent: spent({ usd }), error: null },
    ];
  };
  const bodies: readonly EventBody[] = [
    { ...lead, type: 'session-start', parent: null, tool: null, depth: 0, goal },
    { ...lead, type: 'crossing', kind: 'goal', from: 'outside', to: leadId, grant: 'goal', bytes: 25, sha256: sha },
    { ...lead, type: 'model-start', op: 1, turn: 1, model, promptBytes: 2345 },
    { ...lead, ...modelEnd, op: 1 },
    ...kids.map(
      (cell, index) =>
        ({ ...lead, type: 'child-start', op: 2 + index, child: cell, childAgent, tool: childAgent }) as const,
    ),
    ...kids.flatMap((cell, index) => (given.lingers && index === 0 ? child(cell).slice(0, -2) : child(cell))),
    ...(given.lingers ? child(childId).slice(-2) : []),
    ...kids.map(
      (cell, index) =>
        ({
          ...lead,
          type: 'child-end',
          op: 2 + index,
          child: cell,
          childAgent,
          tool: childAgent,
          ok: true,
          status: 'completed',
          error: null,
          ms: 1500,
          ...toolSizes,
        }) as const,
    ),
    ...(given.refused
      ? ([
          {
            ...lead,
            type: 'crossing-refused',
            kind: 'result',
            from: childId,
            to: leadId,
            reason: 'no-grant',
            bytes: 9,
          },
        ] as const)
      : []),
    { ...lead, type: 'wait-start', op: 90, ms: 2000 },
    { ...lead, type: 'session-end', status: given.status, spent: spent({ usd }), error: null },
  ];
  return bodies.map((body, no) => ({
    ...body,
    ...enveloped(body),
    id: `${body.cell}/${no}`,
    run: runId,
    at: startAt + no * 100,
  }));
};

export const outcomeOf = (given: Scene): RunOutcome => ({
  run: runId,
  cell: leadId,
  status: given.status,
  output: given.answer,
  data: null,
  failure: given.failure,
  missing: given.status === 'partial' ? [given.childAgent] : [],
  spent: spent({ usd: given.usd, uncertain: given.uncertain }),
});

/** A run of this many cells with one request and one call each. */
const figuresOf = ({ model, tool, usd, uncertain }: Scene, cells: number): Figures => {
  const times = <T extends Readonly<Record<string, number>>>(one: T) =>
    Object.fromEntries(Object.entries(one).map(([key, value]) => [key, value * cells])) as T;
  const requests = { calls: cells, failed: 0, ...times({ ...modelSizes, ms: 900 }) };
  const tools = { calls: cells, failed: 0, ...times({ ...toolSizes, ms: 12 }) };
  const tokens = times({ inputTokens: 1200, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 300, uncertain });
  return {
    requests,
    tools,
    agents: { calls: 0, failed: 0, bytesIn: 0, charsIn: 0, bytesOut: 0, charsOut: 0, ms: 0 },
    byModel: [{ provider: model, model, ...requests, ...tokens, usd: usd === null ? null : usd * cells }],
    byTool: [{ tool, ...tools }],
    byAgent: [],
  };
};

export const reportOf = (given: Scene): RunReport => {
  const cell = (id: CellId, parent: CellId | null): CellReport => ({
    cell: id,
    parent,
    agent: parent === null ? given.agent : given.childAgent,
    depth: parent === null ? 0 : 1,
    status: parent === null ? given.status : 'completed',
    turns: 1,
    spent: spent({ usd: given.usd }),
    own: spent({ usd: given.usd, inputTokens: 1200, outputTokens: 300, steps: 1 }),
    waitedMs: 0,
    figures: {
      own: figuresOf(given, 1),
      total: figuresOf(given, parent === null ? 1 + given.children : 1),
    },
    stalls: parent === null ? given.stalls : noStalls,
    models: [given.model],
    outcome:
      parent === null
        ? outcomeOf(given)
        : given.childFailure && { ...outcomeOf(given), status: 'limit', failure: given.childFailure },
  });
  return {
    run: runId,
    agent: given.agent,
    goal: given.goal,
    caller: null,
    recordedBy: { format: 5, build: 'cloister 0.1.0' },
    budget: null,
    fork: null,
    continuedBy: [],
    requestHash: null,
    attachments: [],
    history: [],
    status: given.status,
    output: given.answer,
    spent: spent({ usd: given.usd, uncertain: given.uncertain }),
    startedAt: startAt,
    endedAt: startAt + 4200,
    cells: [cell(leadId, null), ...childIds(given).map((id) => cell(id, leadId))],
    events: eventsOf(given),
    causes: given.childFailure === null ? [] : [causeOf(given, given.childFailure)],
  };
};

/** How the child failed. */
const causeOf = ({ agent, childAgent }: Scene, failure: Failure): Cause => {
  const limit = limitBehind(failure);
  return {
    ...omitUndefined({ detail: failure.detail, limit }),
    cell: childId,
    path: [agent, childAgent],
    at: startAt,
    what: limit === undefined ? 'agent' : 'limit',
    name: limit ?? childAgent,
    code: failure.code,
    summary: errorCatalogue[failure.code].summary,
    times: 1,
    ended: true,
  };
};

export const transcriptOf = (given: Scene, { cell, full = false }: TranscriptOptions = {}): Transcript => {
  const prompt: ShownPart = {
    id: 0,
    category: 'SYSTEM',
    origin: `prompt of ${given.agent}, with the runtime’s guidance`,
    rule: 'system@1',
    text: 'You lead.\n  Ask others before you answer, and never answer from memory alone, whatever the question may be.',
    whole: true,
  };
  const goal: ShownPart = { ...prompt, id: 1, category: 'DIALOG', origin: 'from your request', rule: 'goal@1' };
  const asked = { ...goal, text: `Your task: ${given.goal}` };
  const reply: ShownPart = { ...goal, id: 2, origin: 'its own reply', rule: 'reply@1', op: 1, text: 'I ask.' };
  const result: ShownPart = { ...reply, id: 3, origin: 'result of tool look_up', rule: 'tool-result@1', op: 2 };
  const error = { code: 'model_timeout', class: 'model', summary: 'Busy.', suggestion: 'Wait.' } as const;
  const entry = { at: startAt, turn: 1, attempt: 1, op: 0, model: given.model, removed: 0, ms: 900, error: null };
  const output = { name: 'look_up_001.txt', bytes: 9_000, ref: sha, text: 'First lines.', whole: false };
  const call = { op: 2, tool: 'look_up', args: '{"name":"x"}', result: 'First…', output, error: null, ms: 30 };
  const lead: TranscriptCell = {
    cell: leadId,
    parent: null,
    agent: given.agent,
    goal: given.goal,
    startedAt: startAt,
    endedAt: startAt + 4200,
    ms: 4200,
    status: given.status,
    error: null,
    output: given.answer,
    entries: [
      { ...entry, shown: [prompt, asked], said: [], error: { ...error, detail: 'retry in 3 s' }, results: [] },
      {
        ...entry,
        op: 1,
        attempt: 2,
        shown: full ? [prompt, asked] : [],
        said: [
          { type: 'text', text: 'I ask.' },
          { type: 'call', id: 'c1', tool: 'look_up', args: call.args },
        ],
        results: [call],
      },
      {
        ...entry,
        op: 3,
        turn: 2,
        shown: full ? [prompt, asked, reply, result] : [reply, result],
        said: [{ type: 'text', text: given.answer }],
        results: [],
      },
    ],
  };
  return { run: runId, cells: [lead].filter((one) => cell === undefined || cell === one.cell) };
};

export const explanationOf = (given: Scene, find: string | null): Explanation => ({
  run: runId,
  cell: childId,
  agent: given.childAgent,
  find,
  attempts: [1, 3, 5].map((op, index) => ({ op, turn: index + 1, model: given.model, bytes: 900 })),
  segments: [
    {
      id: 0,
      origin: { rule: 'system@1', of: [] },
      bytes: 40,
      shownIn: { first: 1, last: 5 },
      text: 'You look things up.',
      found: [],
      trail: [{ type: 'definition', cell: childId, agent: given.childAgent, path: 'prompt' }],
    },
    {
      id: 1,
      origin: { rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] },
      bytes: 54,
      shownIn: { first: 1, last: 5 },
      text: given.goal,
      found: find === null ? [] : given.found,
      trail: [
        {
          type: 'crossing',
          kind: 'goal',
          from: leadId,
          to: childId,
          grant: 'goal',
          sha256: sha,
          bytes: 54,
          labels: [],
        },
        { type: 'operation', cell: leadId, agent: given.agent, op: 1, name: given.model },
      ],
    },
  ],
});

export const auditOf = (given: Scene): AuditReport => ({
  run: runId,
  ok: given.auditOk,
  crossings: 8,
  refused: given.refused ? 1 : 0,
  prompts: 12,
  promptBytes: 34_567,
  recordedBy: { format: 5, build: 'cloister 0.1.0' },
  unattributedBytes: 0,
  cells: 2,
  problems: given.auditOk ? [] : [{ code: 'chain_broken', where: `${childId}/3`, message: given.goal }],
});

/** The run after its process died. */
export const interruptedSummary = (given: Scene): RunSummary =>
  summaryOf(given, { state: 'interrupted', status: null, endedAt: null });

/** A run that was interrupted after this many events. */
export const interruptedReport = (given: Scene, events: number): RunReport => {
  const whole = reportOf(given);
  const kept = whole.events.slice(0, events);
  const isOver = (cell: CellId) => kept.some((event) => event.type === 'session-end' && event.cell === cell);
  return {
    ...whole,
    status: 'interrupted',
    output: '',
    endedAt: null,
    cells: whole.cells
      .filter(({ cell }) => kept.some((event) => event.cell === cell))
      .map((cell) => (isOver(cell.cell) ? cell : { ...cell, status: null, outcome: null })),
    events: kept,
  };
};

export const summaryOf = (given: Scene, over: Partial<RunSummary> = {}): RunSummary => ({
  run: runId,
  agent: given.agent,
  goal: given.goal,
  caller: null,
  spent: null,
  recordedBy: { format: 5, build: 'cloister 0.1.0' },
  startedAt: startAt,
  endedAt: startAt + 4200,
  state: 'ended',
  status: given.status,
  cells: 2,
  owner: null,
  ...over,
});
