// The transcript of a room as rows, and the checks of an audit in words, on simulated runs.
import { expect, test } from 'vitest';
import type { AuditReport, Frame, Transcript } from '#contracts';
import { projectEvents, readLedgers } from '#core/events';
import { applyEvent, newRunView } from '#headends/run-view';
import { runSeed } from '../../sim/index.ts';
import { auditChecks, placeOf } from '../../web/src/panes/audit-words.ts';
import { transcriptRows } from '../../web/src/panes/transcript-rows.ts';
import { findEntry } from '../../web/src/xray/ledger-entries.ts';

const seeds = Array.from({ length: 10 }, (_, index) => 40 + index);

const logs = (async () => {
  const all: (readonly Frame[])[] = [];
  for (const seed of seeds) {
    const { history } = await runSeed(seed, { keepHistory: true });
    for (const { frames } of history!.runs) if (frames.length > 0) all.push(frames);
  }
  return all;
})();

const viewOf = (frames: readonly Frame[]) => {
  const view = newRunView();
  const fold = projectEvents('answers', false);
  for (const event of frames.flatMap((frame) => fold.next(frame))) applyEvent(view, event);
  return view;
};

test('a crossing is found in both ledgers, each entry once', async () => {
  let found = 0;
  for (const frames of await logs) {
    const { crossings } = viewOf(frames);
    const ledgers = readLedgers(frames);
    for (const way of ['in', 'out'] as const) {
      const entries = crossings.flatMap((crossing) => {
        const end = way === 'in' ? crossing.to : crossing.from;
        const ledger = ledgers.find(({ cell }) => cell === end);
        const entry = ledger === undefined ? null : findEntry(ledger, way, crossing, crossings);
        if (ledger !== undefined && (way === 'out' || crossing.refused === null)) expect(entry).not.toBeNull();
        return entry === null ? [] : [entry.entry];
      });
      expect(new Set(entries).size).toBe(entries.length);
      found += entries.length;
    }
  }
  expect(found).toBeGreaterThan(80);
});

const cell = {
  cell: 'e-1',
  parent: 'l-1',
  agent: 'engineer',
  goal: 'How?',
  startedAt: 100,
  endedAt: 300,
  status: 'completed',
  error: null,
  output: 'So.',
} as const;

const part = (id: number, rule: string, origin = '') => ({
  id,
  rule,
  origin,
  category: 'DIALOG',
  text: '',
  whole: true,
});

const cut = '- one\n- two\n[13398 bytes total, first 1200 shown. Read more with read_output {"name": "x"}.]';

test('rows tell what crossed, what was shown and said, and what was cut, in the order of time', () => {
  const entries = [
    {
      at: 110,
      turn: 1,
      attempt: 1,
      op: 1,
      model: 'm',
      shown: [
        part(0, 'system@1', 'prompt of engineer, with the runtime’s guidance'),
        part(1, 'tool@1'),
        part(2, 'listed-tool@1'),
        part(3, 'goal@1'),
      ],
      removed: 0,
      said: [{ type: 'call', id: 'c', tool: 'notes__internals', args: '{}' }],
      ms: 20,
      error: null,
      results: [
        {
          op: 2,
          tool: 'notes__internals',
          args: '{}',
          result: cut,
          output: { name: 'x.txt', bytes: 13_398, ref: '', text: null, whole: false },
          error: null,
          ms: 6,
        },
      ],
    },
    {
      at: 140,
      turn: 2,
      attempt: 1,
      op: 3,
      model: 'm',
      shown: [part(4, 'reply@1'), part(5, 'tool-result@1')],
      removed: 1,
      said: [],
      ms: 5,
      error: { code: 'model_rate', class: 'model', summary: 'Too many.', suggestion: 'Wait.' },
      results: [],
    },
  ];
  const transcript = { ...cell, entries } as unknown as Transcript['cells'][number];
  const crossing = { id: 'x', after: null, at: 100, kind: 'goal', from: 'l-1', to: 'e-1', bytes: 4, refused: null };
  const view = {
    requests: [],
    calls: [],
    waits: [{ op: 4, startedAt: 150, endedAt: 170, ms: 20, for: 'retry' }],
    cuts: [],
  };
  const rows = transcriptRows(transcript, {
    view: view as never,
    crossings: [
      { ...crossing, grant: 'goal', sha256: 'a' } as never,
      { ...crossing, id: 'y', at: 300, kind: 'result', from: 'e-1', to: 'l-1', refused: 'no-grant' } as never,
    ],
    nameOf: () => 'lead',
    goalOf: () => '',
  });
  expect(rows.map(({ label, words, text, note }) => [label, words ?? text, note])).toEqual([
    ['goal in', 'How?', undefined],
    ['prompt 1', 'Prompt of engineer, 2 tools, the goal.', undefined],
    ['reply', undefined, undefined],
    ['notes/internals', undefined, '1,200 B of 13.4 KB shown, the rest kept as x.txt'],
    ['prompt 2', 'As before, and its own reply and the output. 1 older part left the window.', undefined],
    ['failed', 'Too many.', 'Wait.'],
    ['wait', 'Before it tries again.', undefined],
    ['result out', 'Refused: no grant. Nothing left this room.', undefined],
  ]);
  expect(rows[3]!.code).toBe('- one\n- two');
  expect(rows[4]!.parts).toBe(5);
});

test('every problem of an audit makes one of its checks fail', () => {
  const sound: AuditReport = {
    run: 'r' as never,
    recordedBy: null,
    ok: true,
    crossings: 8,
    refused: 0,
    prompts: 10,
    promptBytes: 100,
    unattributedBytes: 0,
    cells: 4,
    problems: [],
  };
  expect(auditChecks(sound).every(({ ok }) => ok)).toBe(true);
  for (const code of ['crossing-grant', 'chain-hash', 'prompt-part', 'cap-exceeded', 'anything-new']) {
    const problems = [{ code, where: 'frame 3, cell engineer-1, operation 4', message: '' }];
    expect(auditChecks({ ...sound, ok: false, problems }).filter(({ ok }) => !ok).length).toBe(1);
  }
  expect(auditChecks({ ...sound, ok: false, unattributedBytes: 12 }).find(({ ok }) => !ok)!.words).toBe(
    '12 bytes have no origin.',
  );
  expect(placeOf('frame 3, cell engineer-1, operation 4')).toEqual({ cell: 'engineer-1', op: 4 });
});
