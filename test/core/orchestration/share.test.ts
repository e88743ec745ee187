// What a child gets from its caller's window, and what its caller learns about the child's.
import { describe, expect, test } from 'vitest';
import { openCloister } from 'cloister';
import { rehearse, virtualClock } from '#testkit';
import { agent, always, ask, call, lines, ofType, tool, runUntilSettled } from '../session/driver.ts';

const look = tool('look', () => 'A PRIVATE OUTPUT');

/** The child's first request. */
const childText = (requests: readonly { readonly text: string }[]): string =>
  requests.find(({ text }) => text.includes('Your task: Look'))!.text;

const says = [
  ...lines({
    lead: [
      call('look'),
      { ...call('child', { prompt: 'Look north' }), text: 'PRIVATE WORDS' },
      call('child', { prompt: 'Look south' }),
    ],
  }),
  always('Seen.', 'child'),
  always('Done.', 'lead'),
];

describe('a share', () => {
  const shared = (share: readonly ('system' | 'context')[]) =>
    ask(agent('lead', { prompt: 'THE LEAD’S PROMPT.', tools: [look], agents: [agent('child', { share })] }), {
      says,
      meanwhile: (session) => session.addContext('THE CONTEXT'),
    });

  test('is the caller’s SYSTEM and CONTEXT: no dialog, no outputs, and not the caller’s goal', async () => {
    const { requests, audit } = await shared(['system', 'context']);
    expect(audit.ok).toBe(true);
    const text = childText(requests);
    expect(text).toContain('Shared by your caller (system):');
    expect(text).toContain('THE LEAD’S PROMPT.');
    expect(text).toContain('Shared by your caller (context):');
    expect(text).toContain('THE CONTEXT');
    expect(text).not.toContain('PRIVATE');
    expect(text).not.toContain('Find it');
  });

  test.for<[share: readonly ('system' | 'context')[], has: string, lacks: string]>([
    [['system'], 'THE LEAD’S PROMPT.', 'THE CONTEXT'],
    [['context'], 'THE CONTEXT', 'THE LEAD’S PROMPT.'],
  ])('of %s alone contains nothing else', async ([share, has, lacks]) => {
    const { requests } = await shared(share);
    expect(childText(requests)).toContain(has);
    expect(childText(requests)).not.toContain(lacks);
  });

  test('is empty unless the child’s definition asks for it', async () => {
    const { requests, events } = await shared([]);
    expect(childText(requests)).not.toContain('Shared by');
    expect(ofType(events, 'crossing').some(({ kind }) => kind === 'share')).toBe(false);
  });

  test('crosses under its own grant, in the frame that creates the child', async () => {
    const { events } = await shared(['context']);
    const crossings = ofType(events, 'crossing').filter(({ kind }) => kind === 'share');
    expect(crossings).toHaveLength(2);
    expect(crossings.every(({ grant }) => grant === 'share')).toBe(true);
  });
});

describe('while a child is working', () => {
  const running = async () => {
    const clock = virtualClock(1_000_000);
    const model = rehearse(
      [
        { when: { agent: 'lead', turn: 1 }, reply: { calls: [{ tool: 'child', args: { prompt: 'Look north' } }] } },
        { when: { agent: 'child', turn: 1 }, reply: { calls: [{ tool: 'look' }], delayMs: 100 } },
        { when: { agent: 'child' }, reply: 'Seen.' },
        { reply: 'Done.' },
      ],
      { clock },
    );
    const child = agent('child', { tools: [look], share: ['context'] });
    const lead = agent('lead', { agents: [child] });
    const cloister = await openCloister({ store: 'memory', agents: [lead], models: [model], clock });
    const session = cloister.run('lead', 'Go', { context: ['FIRST'] });
    await clock.advance(10);
    const cell = async () => (await cloister.show(session.run)).cells[1]!.cell;
    const end = async (): Promise<readonly string[]> => {
      await runUntilSettled(clock, session.outcome);
      expect(await cloister.audit(session.run)).toMatchObject({ ok: true, problems: [] });
      expect(await cloister.replay(session.run)).toMatchObject({ ok: true, differences: [] });
      return model.requests.map(({ prompt }) => JSON.stringify(prompt));
    };
    return { session, cell, end };
  };

  test('context added to its caller later does not reach the child by itself', async () => {
    const { session, end } = await running();
    session.addContext('SECOND');
    const requests = await end();
    const [first, second] = requests.filter((text) => text.includes('You do what child does.'));
    expect(first).toContain('FIRST');
    expect(second).not.toContain('SECOND');
    expect(requests.at(-1)).toContain('SECOND');
  });

  test('a refresh copies what is new, once', async () => {
    const { session, cell, end } = await running();
    session.addContext('SECOND');
    const id = await cell();
    expect([session.refreshShare(id), session.refreshShare(id)]).toEqual([1, 0]);
    const [, second] = (await end()).filter((text) => text.includes('You do what child does.'));
    expect(second!.split('SECOND')).toHaveLength(2);
    expect(second!.split('FIRST')).toHaveLength(2);
  });

  test('a cell that has ended, or shares nothing, cannot be refreshed; an ended run accepts no context', async () => {
    const { session, cell, end } = await running();
    const id = await cell();
    expect(() => session.refreshShare('lead-nobody')).toThrow(/has ended, or is not running in this process/u);
    await end();
    expect(() => session.refreshShare(id)).toThrow(expect.objectContaining({ code: 'cell_ended' }));
    expect(() => session.addContext('late')).toThrow(expect.objectContaining({ code: 'cell_ended' }));
  });
});

describe('a child with a smaller window', () => {
  const small = () => agent('child', { limits: { contextTokensMax: 4_000 } });

  test('leaves its caller’s window as it is, and its caller is notified once', async () => {
    const { requests, events, report } = await ask(agent('lead', { tools: [look], agents: [small()] }), { says });
    const leads = requests.filter(({ text }) => text.includes('You do what lead does.'));
    const note = 'Note: child has a smaller context window than you (4000 tokens, yours: 128000).';
    expect(leads[1]!.text).not.toContain(note);
    expect(leads[2]!.text.split(note)).toHaveLength(2);
    expect(leads.at(-1)!.text.split(note)).toHaveLength(2);
    const clamps = ofType(events, 'window-clamp');
    expect(clamps.map(({ agent: name, window }) => [name, window])).toEqual([
      ['child', { tokens: 4_000, by: 'given' }],
      ['child', { tokens: 4_000, by: 'given' }],
    ]);
    expect(report.cells).toHaveLength(3);
  });

  test('sends no notes without the grant for them', async () => {
    const silent = agent('child', { limits: { contextTokensMax: 4_000 }, grants: ['goal', 'result'] });
    const { requests, events } = await ask(agent('lead', { tools: [look], agents: [silent] }), { says });
    expect(requests.some(({ text }) => text.includes('Note: '))).toBe(false);
    expect(ofType(events, 'crossing-refused')).toEqual([]);
  });

  test('compacts by its own window size, never by its caller’s', async () => {
    const talk = tool('talk', () => 'words '.repeat(300));
    const child = agent('child', {
      tools: [talk],
      limits: { contextTokensMax: 2_000, maxOutputTokens: 100, maxToolTurns: 12 },
    });
    const { events } = await ask(agent('lead', { agents: [child] }), {
      says: [
        ...lines({ lead: [call('child', { prompt: 'Look' })], child: Array.from({ length: 8 }, () => call('talk')) }),
        always('Done.'),
      ],
    });
    const trims = ofType(events, 'window-trim');
    expect(trims.length).toBeGreaterThan(0);
    expect(new Set(trims.map(({ agent: name }) => name))).toEqual(new Set(['child']));
  });

  test('is clamped again when it falls back to a model with a smaller window', async () => {
    const clock = virtualClock(1_000_000);
    const large = rehearse([{ reply: { fault: 400 } }], { modelId: 'large', clock });
    const little = rehearse([{ reply: 'Done.' }], { modelId: 'little', clock });
    const models = [
      { language: large, contextTokens: 50_000 },
      { language: little, contextTokens: 3_000 },
    ];
    const { events, outcome } = await ask(agent('solo', { models, limits: { maxRetries: 0 } }), { clock, says: [] });
    expect(outcome.status).toBe('completed');
    expect(ofType(events, 'window-clamp')).toMatchObject([{ window: { tokens: 3_000, by: 'model' }, was: 50_000 }]);
  });
});

describe('a budget group', () => {
  test('clamps its agents to the smallest window of the registered ones, again when that changes', async () => {
    const clock = virtualClock(1_000_000);
    const model = rehearse([{ reply: 'Done.' }], { clock });
    const member = (name: string, contextTokensMax: number) =>
      agent(name, { budgetGroup: 'team', limits: { contextTokensMax } });
    const [one, other] = [member('one', 9_000), member('other', 6_000)];
    const cloister = await openCloister({ store: 'memory', agents: [one, other], models: [model], clock });
    const windowOf = async (name: string) => {
      const session = cloister.run(name, 'Go');
      await runUntilSettled(clock, session.outcome);
      expect((await cloister.audit(session.run)).ok).toBe(true);
      const { limit, happened } = (await cloister.windows(session.run))[0]!;
      expect(happened.some(({ what }) => what === 'clamped')).toBe(limit?.by === 'group');
      return limit;
    };
    expect(await windowOf('one')).toEqual({ tokens: 6_000, by: 'group' });
    expect(await windowOf('other')).toEqual({ tokens: 6_000, by: 'given' });
    cloister.register(member('third', 3_000));
    expect(await windowOf('one')).toEqual({ tokens: 3_000, by: 'group' });
    cloister.remove('third');
    cloister.remove('other');
    expect(await windowOf('one')).toEqual({ tokens: 9_000, by: 'given' });
  });
});
