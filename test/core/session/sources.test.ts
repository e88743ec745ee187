// Tool sources in code: listed once per session, recorded, fixed from then on, and closed with the session.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CloisterError } from '#base';
import type { ListedTools, ToolDefinition, NamedSource } from '#contracts';
import { agent, always, ask, call, calls, lastResults, lines, tool, world } from './driver.ts';
import type { SentRequest } from './driver.ts';
import { checkEveryCrash, resume, mutableCopy, auditProblems, record } from './recorded.ts';

/** A source, and a record of each time it was opened. */
type WatchedSource = NamedSource & { readonly sessions: { calls: number; closed: number }[] };

/** Each session's tools count that session's own calls. */
const sourceOf = (name: string, tools: readonly string[], more: Partial<ToolDefinition> = {}): WatchedSource => {
  const sessions: WatchedSource['sessions'] = [];
  return {
    name,
    sessions,
    list: async () => {
      const session = { calls: 0, closed: 0 };
      sessions.push(session);
      return {
        tools: tools.map((each) => tool(each, () => `${each}, call ${++session.calls}`, more)),
        close: async () => void session.closed++,
      };
    },
  };
};

/** A source with the given `list` function. */
const sourceWith = (name: string, list: NamedSource['list']): NamedSource => ({ name, list });

const toolNames = ({ options }: SentRequest): readonly string[] => (options.tools ?? []).map(({ name }) => name);

const closedOnce = ({ sessions }: WatchedSource): boolean => sessions.every(({ closed }) => closed === 1);

test('a session lists a source once, shows its tools with the source’s name, and calls them by their own', async () => {
  const docs = sourceOf('docs', ['find', 'read']);
  const { outcome, requests } = await ask(agent('lead', { tools: [tool('own', () => 'mine'), docs] }), {
    says: lines({ lead: [calls('docs__find', 'own'), call('docs__read'), 'Done.'] }),
  });
  expect(outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(docs.sessions).toEqual([{ calls: 2, closed: 1 }]);
  for (const request of requests)
    expect(toolNames(request)).toEqual(['own', 'read_output', 'docs__find', 'docs__read']);
  expect(lastResults(requests).map(({ text }) => text)).toEqual(['find, call 1', 'mine', 'read, call 2']);
  expect(requests[0]!.text).toContain('all tools whose names start with docs__');
});

// invariant: sources-closed-with-session
test('every session has its own connection, and closes it at its end', async () => {
  const docs = sourceOf('docs', ['find']);
  const open: number[] = [];
  const look = tool('look', () => {
    open.push(docs.sessions.filter(({ closed }) => closed === 0).length);
    return 'looked';
  });
  const helper = agent('helper', { tools: [docs] });
  const { outcome } = await ask(agent('lead', { tools: [look], agents: [helper] }), {
    says: [
      ...lines({ lead: [calls(...twice({ tool: 'helper', args: { prompt: 'Go' } })), call('look'), 'Done.'] }),
      { when: { agent: 'helper', turn: 1 }, reply: call('docs__find') },
      { when: { agent: 'helper', turn: 2 }, reply: 'Found: {{results}}' },
    ],
  });
  expect(outcome.status).toBe('completed');
  expect(docs.sessions).toEqual([
    { calls: 1, closed: 1 },
    { calls: 1, closed: 1 },
  ]);
  expect(open).toEqual([0]);
});

const twice = <T>(one: T): readonly T[] => [one, one];

test('two sources that share the only tool slot are both listed', async () => {
  const [docs, web] = [sourceOf('docs', ['find']), sourceOf('web', ['find'])];
  const { outcome, requests } = await ask(agent('lead', { tools: [docs, web] }), {
    says: lines({ lead: [calls('docs__find', 'web__find'), 'Done.'] }),
    concurrency: { tools: 1 },
  });
  expect(outcome.status).toBe('completed');
  expect(toolNames(requests[0]!)).toEqual(['read_output', 'docs__find', 'web__find']);
  expect([docs, web].every(closedOnce)).toBe(true);
});

test('whatever a source names its tools, models see names that every provider accepts, or the clash is reported', () =>
  fc.assert(
    fc.asyncProperty(fc.uniqueArray(fc.string({ minLength: 1, maxLength: 90 }), { maxLength: 4 }), async (names) => {
      const docs = sourceOf('docs', names);
      const { outcome, requests } = await ask(agent('lead', { tools: [docs] }), { says: [always('Done.')] });
      expect(closedOnce(docs)).toBe(true);
      const clash = outcome.failure !== null;
      if (clash) {
        expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'server_tools' } });
        expect(requests).toEqual([]);
        return;
      }
      const shown = toolNames(requests[0]!).slice(1);
      for (const name of shown) expect(name).toMatch(/^docs__[A-Za-z0-9_-]{0,58}$/u);
      expect(new Set(shown).size).toBe(names.length);
    }),
    { numRuns: 60 },
  ));

test.each([
  ['two tools of a source that get the same name', [sourceOf('docs', ['find.it', 'find it'])], 'docs__find_it'],
  ['a tool in code', [tool('docs__find', () => 'mine'), sourceOf('docs', ['find'])], 'docs__find'],
])('a name used by %s is rejected, and the error gives it', async (_, tools, name) => {
  const { outcome, requests } = await ask(agent('lead', { tools }));
  expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'server_tools' } });
  expect(outcome.failure?.detail).toContain(`Two tools are named "${name}"; one is from docs`);
  expect(requests).toEqual([]);
});

test('two sources of the same name are rejected before anything runs', () => {
  expect(() => agent('lead', { tools: [sourceOf('docs', ['a']), sourceOf('docs', ['b'])] })).toThrow(/is used twice/u);
});

test('arguments are checked against the listed schema, and a failing listed tool gives its model an error', async () => {
  const docs = sourceWith('docs', async () => ({
    tools: [
      tool('find', () => 'found', {
        inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
      }),
      tool('break', () => Promise.reject(new Error('No luck.'))),
    ],
  }));
  const { outcome, requests } = await ask(agent('lead', { tools: [docs] }), {
    says: lines({ lead: [calls('docs__find', 'docs__break', 'docs__lose'), 'Done.'] }),
  });
  expect(outcome.status).toBe('completed');
  const [find, broke, lose] = lastResults(requests).map(({ text }) => text);
  expect(find).toMatch(/Error \(tool\).*invalid.*word/u);
  expect(broke).toMatch(/Error \(tool\).*No luck\./u);
  expect(lose).toMatch(/"docs__lose" is not one of: read_output, docs__find, docs__break/u);
});

test('the last turn has no tools, also none of a source', async () => {
  const docs = sourceOf('docs', ['find']);
  const { outcome, requests } = await ask(agent('lead', { tools: [docs], limits: { maxToolTurns: 1 } }), {
    says: lines({ lead: [call('docs__find'), 'What I have.'] }),
  });
  expect(outcome).toMatchObject({ status: 'partial', output: 'What I have.', failure: { code: 'turns_used' } });
  expect(requests.map((request) => toolNames(request).length)).toEqual([2, 0]);
});

const hang = ({ signal }: { readonly signal: AbortSignal }): Promise<ListedTools> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));

describe('a source that cannot be listed', () => {
  const unreachable = async () => {
    throw new CloisterError('server_failed', 'It said: password is swordfish.');
  };
  const broken = async () => {
    throw new Error('Connection to swordfish.internal lost.');
  };

  test.each([
    ['is unreachable', unreachable, 'server_failed', 'network'],
    ['throws any error', broken, 'tool_failed', 'tool'],
    ['hangs', hang, 'tool_timeout', 'timeout'],
  ] as const)(
    'ends the session that needs it when it %s; the parent gets class, summary and suggestion, not its error text',
    async (_, list, code, kind) => {
      const helper = agent('helper', { tools: [sourceWith('docs', list)], limits: { toolTimeout: 5_000 } });
      const { outcome, requests, report } = await ask(agent('lead', { agents: [helper] }), {
        says: lines({ lead: [call('helper', { prompt: 'Go' }), 'Without the helper.'] }),
      });
      expect(outcome).toMatchObject({ status: 'partial', output: 'Without the helper.', missing: ['helper'] });
      expect(report.cells[1]).toMatchObject({ status: 'failed', turns: 0, outcome: { output: '', failure: { code } } });
      const [shown] = lastResults(requests);
      expect(shown).toMatchObject({ type: 'error-text', name: 'helper' });
      expect(shown!.text).toContain(`Result from helper (status: failed). Error (${kind}): `);
      expect(shown!.text).toMatch(/\. .*[A-Z].*\.$/u);
      expect(shown!.text).not.toContain('swordfish');
    },
  );

  test('ends a run whose root needs it, with its own error text, without a model request', async () => {
    const docs = sourceOf('docs', ['find']);
    const { outcome, requests } = await ask(agent('lead', { tools: [docs, sourceWith('web', unreachable)] }));
    expect(outcome).toMatchObject({ status: 'failed', output: '', failure: { code: 'server_failed' } });
    expect(outcome.failure?.detail).toContain('swordfish');
    expect(requests).toEqual([]);
    expect(closedOnce(docs)).toBe(true);
  });

  test('is waited for no longer than the run’s time budget', async () => {
    const { outcome } = await ask(agent('lead', { tools: [sourceWith('docs', hang)] }), { budget: { ms: 2_000 } });
    expect(outcome).toMatchObject({ status: 'timeout', failure: { code: 'deadline_passed' } });
  });
});

describe('a run that is cancelled while a source is being listed', () => {
  test('aborts the listing, and ends as cancelled', async () => {
    const { promise: listing, resolve: begun } = Promise.withResolvers<void>();
    let abortReason: unknown;
    const docs = sourceWith('docs', ({ signal }) => {
      begun();
      signal.addEventListener('abort', () => (abortReason = signal.reason));
      return hang({ signal });
    });
    const { outcome } = await ask(agent('lead', { tools: [docs] }), { meanwhile: cancelAfter(listing) });
    expect(outcome).toMatchObject({ status: 'cancelled', failure: { code: 'cancelled' } });
    expect(abortReason).toMatchObject({ code: 'cancelled' });
  });

  // invariant: sources-closed-with-session
  test('closes what a source opens after it was aborted', async () => {
    const { clock } = world();
    const { promise: listing, resolve: begun } = Promise.withResolvers<void>();
    const late = sourceOf('docs', ['find']);
    const docs = sourceWith('docs', async (context) => {
      begun();
      await new Promise<void>((resolve) => void clock.timer(300, resolve));
      return late.list(context);
    });
    const { outcome } = await ask(agent('lead', { tools: [docs] }), { clock, meanwhile: cancelAfter(listing) });
    expect(outcome.status).toBe('cancelled');
    expect(late.sessions).toEqual([{ calls: 0, closed: 1 }]);
  });

  test('cancels a child that is listing', async () => {
    const { clock } = world();
    const { promise: listing, resolve: begun } = Promise.withResolvers<void>();
    const docs = sourceWith('docs', ({ signal }) => {
      begun();
      return hang({ signal });
    });
    const helper = agent('helper', { tools: [docs] });
    const { outcome, report } = await ask(agent('lead', { agents: [helper] }), {
      clock,
      says: lines({ lead: [{ ...call('helper', { prompt: 'Go' }), delayMs: 10 }] }),
      meanwhile: async (session) => {
        await clock.advance(10);
        await listing;
        session.cancel();
      },
    });
    expect(outcome.status).toBe('cancelled');
    expect(report.cells.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
  });
});

const cancelAfter =
  (seen: Promise<void>) =>
  async (session: { cancel(): void }): Promise<void> => {
    await seen;
    session.cancel();
  };

describe('the list of tools is recorded', () => {
  const lead = (docs: NamedSource) => agent('lead', { tools: [docs] });
  const says = [
    { when: { agent: 'lead', turn: 1 }, reply: call('docs__find') },
    { when: { agent: 'lead', turn: 2 }, reply: 'Found: {{results}}' },
  ];
  const tools = ({ tools: shown }: { tools?: readonly unknown[] }) => shown;

  // invariant: tools-as-listed
  test('resumed after any crash, the model is shown the same tools, and the source is opened only for a call', async () => {
    const whole = await record(lead(sourceOf('docs', ['find', 'read'], { repeat: 'free' })), { says });
    expect(whole.outcome).toMatchObject({ status: 'completed', output: expect.stringContaining('find, call 1') });
    await checkEveryCrash(whole.frames, async (prefix, where) => {
      const docs = sourceOf('docs', ['read', 'find', 'newer'], { repeat: 'free', description: 'Changed since.' });
      const listed = prefix.some(({ record: { type, ...rest } }) => type === 'settle' && 'op' in rest && rest.op === 0);
      const { outcome, frames, requests } = await resume(prefix, lead(docs), { says });
      expect(outcome, where).toMatchObject({ status: 'completed', output: whole.outcome.output });
      const called = prefix.some(({ record: entry }) => entry.type === 'settle' && entry.op === 2);
      expect(docs.sessions.length, where).toBe(listed && called ? 0 : 1);
      expect(closedOnce(docs), where).toBe(true);
      if (listed) for (const request of requests) expect(tools(request), where).toEqual(tools(whole.requests[0]!));
      expect(await auditProblems([...prefix, ...frames]), where).toEqual([]);
    });
  });

  test('a call to a tool that the source no longer has fails with that reason', async () => {
    const { frames } = await record(lead(sourceOf('docs', ['find'])), { says });
    const prefix = frames.slice(0, 4);
    const { outcome, frames: more } = await resume(prefix, lead(sourceOf('docs', ['other'])), { says });
    expect(outcome.output).toMatch(/Error \(config\).*docs no longer has the tool "find"/u);
    expect(await auditProblems([...prefix, ...more])).toEqual([]);
  });

  test('a changed list is detected by the audit', async () => {
    const { frames } = await record(lead(sourceOf('docs', ['find'])), { says });
    expect(await auditProblems(frames)).toEqual([]);
    const changed = mutableCopy(frames);
    const settled = changed.find(({ record: { type, op } }) => type === 'settle' && op === 0);
    expect(settled.record.value[0].description).toBe('The tool find.');
    settled.record.value[0].description = 'The tool fund.';
    expect((await auditProblems(changed)).map(({ code }) => code)).toContain('prompt-hash');
  });
});

describe('an agent that selects single tools of a source', () => {
  const asked = (only: readonly string[], says = [always('Done.')]) => {
    const docs = sourceOf('docs', ['find', 'read', 'erase']);
    const lead = agent('lead', { tools: [docs] });
    return record(lead, { says, sources: () => [{ source: docs, only }] }).then((run) => ({ ...run, docs }));
  };

  // invariant: tools-named-only
  test('is shown only those, and cannot call others', async () => {
    const { requests, outcome } = await asked(
      ['read', 'find'],
      [{ when: { turn: 1 }, reply: calls('docs__erase', 'docs__find') }, { reply: '{{results}}' }],
    );
    expect((requests[0]!.tools ?? []).map(({ name }) => name)).toEqual(['read_output', 'docs__find', 'docs__read']);
    expect(outcome.output).toMatch(/"docs__erase" is not one of: read_output, docs__find, docs__read/u);
    expect(outcome.output).toContain('find, call 1');
  });

  test('gets an error that lists the source’s tools when one is missing, before any model request', async () => {
    const { outcome, requests, docs } = await asked(['find', 'raed']);
    expect(outcome).toMatchObject({ status: 'failed', failure: { code: 'server_tools' } });
    expect(outcome.failure?.detail).toBe('docs has no tool "raed"; it has find, read, erase.');
    expect(requests).toEqual([]);
    expect(closedOnce(docs)).toBe(true);
  });
});
