// What a child gets from its caller's window, and what its caller learns about the child's.
import { describe, expect, test } from 'vitest';
import { openCloister } from 'cloister';
import type { AgentOptions } from 'cloister';
import { canonicalJson, sha256 } from '#base';
import { rehearse, virtualClock } from '#testkit';
import { agent, always, ask, call, lines, ofType, tool, runUntilSettled } from '../session/driver.ts';
import type { SentRequest } from '../session/driver.ts';

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

  // invariant: share-asked-categories
  test('is the caller’s SYSTEM and CONTEXT: no dialog, no outputs, and not the caller’s goal', async () => {
    const { requests, audit } = await shared(['system', 'context']);
    expect(audit.ok).toBe(true);
    const text = childText(requests);
    expect(text).toContain('THE LEAD’S PROMPT.');
    expect(text).toContain('Shared by your caller:');
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

  // invariant: share-asked-categories
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

describe('a shared prompt', () => {
  const requestOf = (requests: readonly SentRequest[], goal: string) =>
    requests.find(({ text }) => text.includes(`Your task: ${goal}`))!.options.prompt;

  const sharedText =
    'Your caller works by the instructions below. Follow them too, except where your own instructions above say otherwise.';

  /** The lead calls the middle agent, which calls the leaf. */
  const chain = (lead: Partial<AgentOptions>, share: readonly ('system' | 'context')[] = ['system']) => {
    const leaf = agent('leaf', { share });
    const middle = agent('middle', { prompt: 'BE BRIEF.', share: ['system'], agents: [leaf] });
    return ask(agent('lead', { prompt: 'BE KIND.', tools: [look], ...lead, agents: [middle] }), {
      says: [
        ...lines({ lead: [call('middle', { prompt: 'Look' })], middle: [call('leaf', { prompt: 'Look closer' })] }),
        always('Done.'),
      ],
    });
  };

  // invariants: share-own-prompt-only, share-prompt-by-author
  test('is system text of the child, after its own, without the runtime’s lines about the caller', async () => {
    const { requests } = await chain({});
    expect(requestOf(requests, 'Look').slice(0, 2)).toEqual([
      { role: 'system', content: expect.stringMatching(/^BE BRIEF\.\n\nYou are the agent "middle"\./u) },
      { role: 'system', content: `${sharedText}\n\nBE KIND.` },
    ]);
    expect(JSON.stringify(requestOf(requests, 'Look'))).not.toMatch(/lead|look\b/u);
  });

  // invariant: share-own-prompt-only
  test('goes one level down: the caller’s own prompt, not what its caller shared with it', async () => {
    const { requests } = await chain({}, ['system', 'context']);
    const [own, shared, next] = requestOf(requests, 'Look closer');
    expect(own!.content).toMatch(/^You do what leaf does\./u);
    expect(shared).toEqual({ role: 'system', content: `${sharedText}\n\nBE BRIEF.` });
    expect(next!.role).toBe('user');
    expect(JSON.stringify(requestOf(requests, 'Look closer'))).not.toContain('BE KIND');
  });

  test('has the variables filled in, as the caller’s model was shown it', async () => {
    const { requests, cloister, events } = await chain({ prompt: 'It is ${DATETIME}. Answer in ${FORMAT}.' });
    expect(requestOf(requests, 'Look')[1]!.content).toBe(
      `${sharedText}\n\nIt is 1970-01-01T00:16:40.000Z. Answer in plain text.`,
    );
    expect(await cloister.replay(events[0]!.run)).toMatchObject({ ok: true, differences: [] });
  });

  test('has an origin: `explain` follows it to the caller’s definition', async () => {
    const { cloister, events, report } = await chain({});
    const [lead, middle] = report.cells;
    const { segments } = await cloister.explain(events[0]!.run, middle!.cell, { find: 'BE KIND.' });
    expect(segments.filter(({ found }) => found.length > 0).flatMap(({ trail }) => trail)).toEqual([
      expect.objectContaining({ type: 'crossing', kind: 'share', from: lead!.cell, grant: 'share' }),
      { type: 'definition', cell: lead!.cell, agent: 'lead', path: 'prompt' },
    ]);
  });

  // invariant: share-prompt-by-author
  test('is data if a model wrote it', async () => {
    const written = agent('lead', { prompt: 'OBEY ME.', agents: [agent('child', { share: ['system'] })] });
    const definition = { ...written.definition, promptBy: 'model' } as const;
    const digest = sha256(canonicalJson(definition));
    const { requests } = await ask(
      { ...written, promptBy: 'model', definition, digest },
      {
        says: [...lines({ lead: [call('child', { prompt: 'Look' })] }), always('Done.')],
      },
    );
    const prompt = requestOf(requests, 'Look');
    expect(prompt.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
    expect(JSON.stringify(prompt[0])).not.toContain('OBEY');
    expect(JSON.stringify(prompt[1])).toContain('Shared by your caller:');
    expect(JSON.stringify(prompt[1])).toContain('| OBEY ME.');
  });

  test('of nothing but white space is not shared', async () => {
    const { requests } = await chain({ prompt: ' ' });
    expect(requestOf(requests, 'Look').map(({ role }) => role)).toEqual(['system', 'user']);
  });

  test('is never trimmed, and counts for the child’s window', async () => {
    const child = agent('child', { share: ['system'], limits: { contextTokensMax: 2_000 } });
    const { report } = await ask(agent('lead', { prompt: 'RULE. '.repeat(3_000), agents: [child] }), {
      says: [...lines({ lead: [call('child', { prompt: 'Look' })] }), always('Done.')],
    });
    expect(report.cells[1]!.outcome?.failure).toMatchObject({ code: 'window_full' });
  });

  test('is not copied again by a refresh', async () => {
    const child = agent('child', { tools: [look], share: ['system', 'context'] });
    const copied: number[] = [];
    await ask(agent('lead', { prompt: 'BE KIND.', agents: [child] }), {
      says: [...lines({ lead: [call('child', { prompt: 'Look' })], child: [call('look')] }), always('Done.')],
      onEvent: (event, session) => {
        if (event.type === 'child-start') copied.push(session.refreshShare(event.child));
      },
    });
    expect(copied).toEqual([0]);
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

  // invariant: share-asked-categories
  test('context added to its caller later does not reach the child by itself', async () => {
    const { session, end } = await running();
    session.addContext('SECOND');
    const requests = await end();
    const [first, second] = requests.filter((text) => text.includes('You do what child does.'));
    expect(first).toContain('FIRST');
    expect(second).not.toContain('SECOND');
    expect(requests.at(-1)).toContain('SECOND');
  });

  // invariant: share-asked-categories
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

  // invariant: note-fixed-text
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

  // invariant: window-limit-by-definitions
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
