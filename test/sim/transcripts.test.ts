// Transcripts from events with details, against the log as the audit reads it, on simulated runs.
import { expect, test } from 'vitest';
import type { CellId } from '#base';
import type { DurableEvent, ExplainedSegment, Frame, ModelReply, Transcript, ToolResultValue } from '#contracts';
import { explainCell } from '#core/audit';
import { projectEvents, transcriptFrom } from '#core/events';
import { runSeed } from '../../sim/index.ts';

const seeds = Array.from({ length: 18 }, (_, index) => 100 + index);

const simulated = async (): Promise<readonly (readonly Frame[])[]> => {
  const logs: (readonly Frame[])[] = [];
  for (const seed of seeds) {
    const { history } = await runSeed(seed, { keepHistory: true });
    for (const { frames } of history!.runs) if (frames.length > 0) logs.push(frames);
  }
  return logs;
};

const logs = simulated();

const eventsOf = (frames: readonly Frame[]): readonly DurableEvent[] => {
  const fold = projectEvents('contents', true);
  return frames.flatMap((frame) => fold.next(frame));
};

/** As a page gets it: over a wire. */
const fromEvents = (frames: readonly Frame[], full: boolean): Transcript =>
  transcriptFrom(frames[0]!.run, JSON.parse(JSON.stringify(eventsOf(frames))) as readonly DurableEvent[], { full });

/** From the log, by the audit's own code: what each request of a cell was shown. */
const promptsFromLog = async (frames: readonly Frame[], cell: CellId) => {
  const { attempts, segments } = await explainCell(frames, cell);
  const isShown = (op: number) => (segment: ExplainedSegment) =>
    segment.shownIn !== null && segment.shownIn.first <= op && op <= segment.shownIn.last;
  return attempts.map(({ op }) => ({
    op,
    shown: segments.filter(isShown(op)).map(({ id, text }) => ({ id, text })),
  }));
};

/** A request that was sent again after a crash is one request in the log, and two in the transcript. */
const onceEach = (entries: Transcript['cells'][number]['entries']) =>
  entries.filter(({ op }, index) => entries.findLastIndex((one) => one.op === op) === index);

// invariant: details-suffice, transcript-from-events
test('every prompt of a transcript is the one that the audit rebuilds from the log', async () => {
  let [requests, cells] = [0, 0];
  for (const frames of await logs)
    for (const { cell, entries } of fromEvents(frames, true).cells) {
      const told = onceEach(entries).map(({ op, shown }) => ({
        op,
        shown: shown.map(({ id, text }) => ({ id, text })),
      }));
      expect(told).toEqual(await promptsFromLog(frames, cell));
      requests += told.length;
      cells++;
    }
  expect([requests > 80, cells > 30]).toEqual([true, true]);
});

test('what is new in each request adds up to the whole prompts', async () => {
  let removed = 0;
  for (const frames of await logs) {
    const [short, full] = [fromEvents(frames, false), fromEvents(frames, true)];
    for (const [index, { entries }] of short.cells.entries()) {
      const seen = new Set<number>();
      for (const [nth, entry] of entries.entries()) {
        for (const { id } of entry.shown) {
          expect(seen.has(id)).toBe(false);
          seen.add(id);
        }
        const whole = full.cells[index]!.entries[nth]!.shown;
        expect(whole.every(({ id }) => seen.has(id))).toBe(true);
        removed += entry.removed;
      }
    }
  }
  expect(removed).toBeGreaterThan(0);
});

test('replies, calls and results are those of the log', async () => {
  let [replies, results, failures] = [0, 0, 0];
  for (const frames of await logs) {
    const settled = new Map(
      frames.flatMap(({ cell, record }) =>
        record.type === 'settle' || record.type === 'post' ? [[`${cell}/${record.op}`, record] as const] : [],
      ),
    );
    for (const { cell, entries } of fromEvents(frames, false).cells)
      for (const entry of onceEach(entries)) {
        const reply = settled.get(`${cell}/${entry.op}`);
        const parts = reply?.ok === true ? (reply.value as unknown as ModelReply).parts : [];
        expect(entry.said).toEqual(
          parts.map((part) =>
            part.type === 'call'
              ? { type: 'call', id: part.id, tool: part.name, args: part.input }
              : { type: part.type, text: part.text },
          ),
        );
        replies += entry.said.length;
        for (const { op, child, result, error } of entry.results) {
          const end = settled.get(`${cell}/${op}`);
          expect(error?.code ?? null).toBe(child === undefined ? (end?.failure?.code ?? null) : (error?.code ?? null));
          if (error !== null && end?.failure?.detail) expect(error.detail).toBe(end.failure.detail);
          if (child === undefined && end?.ok === true && result !== '')
            expect(result).toBe((end.value as ToolResultValue).text);
          results++;
          failures += error === null ? 0 : 1;
        }
      }
  }
  expect([replies > 60, results > 20, failures > 2]).toEqual([true, true, true]);
});

test('every part has an origin in words', async () => {
  const origins = new Set<string>();
  for (const frames of await logs)
    for (const { entries } of fromEvents(frames, false).cells)
      for (const { shown } of entries)
        for (const { origin, rule, text } of shown) {
          expect(origin).not.toBe(rule);
          expect(text).not.toBe('');
          origins.add(rule);
        }
  expect(origins.size).toBeGreaterThan(8);
});

test('without `contents`, or unless asked for, no event carries contents', async () => {
  for (const frames of (await logs).slice(0, 10))
    for (const [sees, details] of [
      ['answers', true],
      ['causes', true],
      ['contents', false],
    ] as const) {
      const fold = projectEvents(sees, details);
      for (const frame of frames) for (const event of fold.next(frame)) expect(event).not.toHaveProperty('details');
    }
});
