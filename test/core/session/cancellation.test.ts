import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent, RunSession } from 'cloister';
import { agent, always, ask, call, calls, lines, ofType, tool, world } from './driver.ts';

/** Tools, retries, children, grandchildren and gather, some slow, some ignoring the abort signal. */
const workload = (options: { heedsSignal?: boolean } = {}) => {
  const { clock } = world();
  const started: { readonly at: number; readonly order: number }[] = [];
  let order = 0;
  const slow = tool('slow', ({ ms }, { signal }) => {
    started.push({ at: clock.now(), order: order++ });
    return new Promise((resolve, reject) => {
      clock.timer(Number(ms ?? 10), () => resolve('slept'));
      if (options.heedsSignal === true) signal.addEventListener('abort', () => reject(new Error('aborted')));
    });
  });
  const leaf = agent('leaf', { tools: [slow] });
  const helper = agent('helper', { tools: [slow], agents: [leaf] });
  const lead = agent('lead', {
    tools: [slow, tool('boom', () => Promise.reject(new Error('boom')))],
    agents: [helper, leaf],
    gather: { timeoutMs: 90 },
    limits: { parallelToolCalls: 2 },
  });
  const says = [
    ...lines({
      lead: [
        { ...calls('slow', 'boom', { tool: 'slow', args: { ms: 30 } }, 'slow'), text: 'I begin.' },
        { fault: 500 },
        {
          ...calls(...['helper', 'leaf', 'helper'].map((name) => ({ tool: name, args: { prompt: 'Go' } }))),
          delayMs: 20,
        },
        call('gather', { tasks: ['leaf', 'helper', 'leaf'].map((name) => ({ agent: name, prompt: 'Gather' })) }),
      ],
    }),
    always({ text: 'All is done.', pieceDelayMs: 5 }, 'lead'),
    ...lines({
      helper: [call('leaf', { prompt: 'Down' }), calls('slow', 'slow'), { fault: 429, retryAfterMs: 40 }],
      leaf: [calls('slow', { tool: 'slow', args: { ms: 70 } }), { text: 'Leaf.', delayMs: 15 }, call('slow')],
    }),
    always({ text: 'Helped.', delayMs: 25 }, 'helper'),
    always({ text: 'Leaf again.', delayMs: 5 }, 'leaf'),
  ];
  return { clock, lead, says, started };
};

/** Cancels at the n-th durable event of the workload. */
const cancelAt = async (nth: number, how: (session: RunSession) => void, options = {}) => {
  const { clock, lead, says, started } = workload(options);
  let seen = 0;
  let startedBefore = -1;
  const asked = await ask(lead, {
    clock,
    says,
    onEvent: (event, session) => {
      if (!('id' in event) || seen++ !== nth) return;
      how(session);
      startedBefore = started.length;
    },
  });
  return { ...asked, started, startedBefore, total: seen };
};

/** Each operation that began has ended, and so has each cell. */
const checkEnded = (events: readonly RunEvent[]): void => {
  const pairs = [
    ['session-start', 'session-end'],
    ['model-start', 'model-end'],
    ['tool-start', 'tool-end'],
    ['child-start', 'child-end'],
  ] as const;
  for (const [begin, end] of pairs) {
    const keys = (type: RunEvent['type']) =>
      events.filter((event) => event.type === type).map((event) => `${event.cell}/${'op' in event ? event.op : ''}`);
    expect(keys(end).sort(), `${begin} without ${end}`).toEqual(keys(begin).sort());
  }
};

test('the workload completes when not cancelled', async () => {
  const { outcome, report, total, started } = await cancelAt(Infinity, () => undefined);
  expect(outcome).toMatchObject({ status: 'completed', output: 'All is done.' });
  expect(report.cells.length).toBeGreaterThan(6);
  expect(total).toBeGreaterThan(80);
  expect(started.length).toBeGreaterThan(6);
  checkEnded(report.events);
});

test('cancelled at any operation, everything ends as cancelled: no tool starts, no cell is left, the audit is ok', () =>
  fc.assert(
    fc.asyncProperty(fc.nat(110), fc.boolean(), async (nth, heedsSignal) => {
      const { outcome, report, started, startedBefore } = await cancelAt(nth, (session) => session.cancel(), {
        heedsSignal,
      });
      if (startedBefore < 0) {
        expect(outcome.status).toBe('completed');
        return;
      }
      const { events } = report;
      checkEnded(events);
      const at = events.findIndex(({ type }) => type === 'run-cancel');
      if (at < 0) {
        expect(outcome.status).toBe('completed');
        return;
      }
      expect(started.length).toBe(startedBefore);
      // A cancel after the answer changes nothing.
      const answered = (event: RunEvent): boolean =>
        event.type === 'model-end' && event.cell === outcome.cell && event.ok && event.calls === 0;
      if (events.slice(0, at).some(answered)) {
        expect(outcome.status).toBe('completed');
        return;
      }
      expect(outcome).toMatchObject({ status: 'cancelled', failure: { code: 'cancelled' } });
      const hasStartedTool = events.slice(0, at).some((event) => event.type === 'tool-start');
      expect(outcome.output).toBe(hasStartedTool ? 'I begin.' : outcome.output);
      // It was said before a tool call, so it is no answer.
      expect(report.output).toBe('');
      for (const cell of report.cells) expect(cell.status, `${cell.agent} did not end`).not.toBeNull();
    }),
    { numRuns: 60 },
  ));

test('after the cancel nothing new begins, not even in the log', async () => {
  const { clock } = world();
  const slow = tool('slow', () => new Promise((resolve) => clock.timer(100, () => resolve('slept'))));
  const { report, outcome } = await ask(
    agent('solo', { tools: [slow], agents: [agent('child')], limits: { parallelToolCalls: 1 } }),
    {
      clock,
      says: lines({
        solo: [{ ...calls('slow', 'slow', { tool: 'child', args: { prompt: 'Go' } }), text: 'So far.' }, 'never'],
      }),
      meanwhile: async (session) => {
        await clock.advance(50);
        session.cancel();
      },
    },
  );
  expect(outcome).toMatchObject({ status: 'cancelled', output: 'So far.', spent: { ms: 50 } });
  const at = report.events.findIndex(({ type }) => type === 'run-cancel');
  const begun = report.events.slice(at).filter(({ type }) => type.endsWith('-start'));
  expect(begun).toEqual([]);
});

test('a signal aborted before the run cancels it before any request', async () => {
  const { outcome, requests, report } = await ask(agent('solo'), { signal: AbortSignal.abort() });
  expect(outcome).toMatchObject({ status: 'cancelled', output: '', failure: { code: 'cancelled' } });
  expect(requests).toHaveLength(0);
  expect(outcome.spent.uncertain).toBe(0);
  expect(report.status).toBe('cancelled');
});

test('a signal aborted midway cancels the whole tree', async () => {
  const { clock, lead, says } = workload();
  const controller = new AbortController();
  const { outcome, report } = await ask(lead, {
    clock,
    says,
    signal: controller.signal,
    meanwhile: async () => {
      await clock.advance(600);
      controller.abort();
    },
  });
  expect(outcome).toMatchObject({ status: 'cancelled', output: 'I begin.' });
  expect(report.cells.length).toBeGreaterThan(1);
  checkEnded(report.events);
});

test('cancelling twice is the same as cancelling once', async () => {
  const once = await cancelAt(30, (session) => session.cancel());
  const twice = await cancelAt(30, (session) => {
    session.cancel();
    session.cancel();
  });
  expect(twice.outcome).toEqual(once.outcome);
  expect(ofType(twice.events, 'run-cancel')).toHaveLength(1);
});

test('cancelling an ended run changes nothing', async () => {
  const { clock } = world();
  let ended: RunSession | undefined;
  const { outcome, cloister } = await ask(agent('solo'), { clock, meanwhile: (session) => void (ended = session) });
  const before = await cloister.show(outcome.run);
  ended!.cancel();
  expect(await cloister.show(outcome.run)).toEqual(before);
  expect(await cloister.audit(outcome.run)).toMatchObject({ ok: true });
  expect(await ended!.outcome).toMatchObject({ status: 'completed' });
});

test('cancelling at the very end leaves a consistent log', async () => {
  const { outcome, report } = await ask(agent('solo'), {
    onEvent: (event, session) => {
      if (event.type === 'session-end') session.cancel();
    },
  });
  expect(outcome.status).toBe('completed');
  expect(report.events.at(-1)).toMatchObject({ type: 'session-end' });
});

test('closing Cloister cancels running runs, and waits for them', async () => {
  const { clock } = world();
  const asked = await ask(agent('solo', { tools: [tool('hang', () => new Promise(() => undefined))] }), {
    clock,
    says: lines({ solo: [call('hang')] }),
    meanwhile: async (_session, cloister) => {
      await clock.advance(10);
      await cloister.close();
    },
  });
  expect(asked.outcome).toMatchObject({ status: 'cancelled' });
});
