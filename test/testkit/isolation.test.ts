// Non-interference as users run it: `expectIsolated` and `verifyIsolation`.
import { AssertionError } from 'node:assert';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { defineAgent } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';
import { expectIsolated, verifyIsolation } from 'cloister/testkit';
import type { Workflow } from 'cloister/testkit';
import { checkIsolation } from '#testkit';
import type { Environment } from '#testkit';
import { AgentTree } from '../../src/testkit/isolation/agent-tree.ts';
import { printedOptions } from './printed-options.ts';

const never = (): never => {
  throw new Error('Something of the user was called.');
};
const model = {
  specificationVersion: 'v4' as const,
  provider: 'mine',
  modelId: 'm',
  supportedUrls: {},
  doGenerate: never,
  doStream: never,
};
const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const tool = (name: string, execute: ToolDefinition['execute'] = never): ToolDefinition => ({
  name,
  description: `Does ${name}.`,
  inputSchema: text,
  repeat: 'free',
  execute,
});

/** A lead and its child; the lead has `remember`, the child has `recall`. */
const team = (remember: ToolDefinition['execute'] = never, recall: ToolDefinition['execute'] = never): Workflow => {
  const child = defineAgent({
    name: 'child',
    description: 'Looks.',
    prompt: 'You look.',
    models: [model],
    tools: [tool('recall', recall), 'write_file', 'list_files'],
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'You lead.',
    models: [model],
    tools: [tool('remember', remember), ...(remember === never ? [{ name: 'kit', list: never }] : [])],
    agents: [child],
    gather: { timeoutMs: 5 },
    budget: { tokens: 1, spawns: 0 },
  });
  return { agents: [lead, child] };
};

// invariant: started-agent-by-definitions
test('a call that offers an agent more time than it has starts the same agent', async () => {
  const child = defineAgent({ name: 'child', description: 'Looks.', prompt: 'You look.', models: [model] });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'You lead.',
    models: [model],
    agents: [child],
  });
  expect(await verifyIsolation({ agents: [lead] }, { seed: 1, pairs: 40 })).toMatchObject({
    ok: true,
    differences: [],
  });
});

// invariant: kit-tool-face-unchanged
test('the stand-in of an agent is the same tool to those that call it', () => {
  const { agents } = team();
  const tree = new AgentTree({ agent: agents[0] as Agent }, { tool: never });
  const faceOf = ({ name, description, usage, signature: { toolName, input, output } }: Agent) => ({
    name,
    description,
    usage,
    toolName,
    input,
    output,
  });
  expect(tree.all.map(({ agent }) => faceOf(agent))).toEqual(tree.all.map(({ own }) => faceOf(own)));
  expect(tree.all.map(({ own }) => own.name).toSorted()).toEqual(['child', 'lead']);
});

/** Tools of two agents that share their notes. */
const sharing = (): Workflow => {
  let kept = 'nothing';
  return team(
    ({ text: words }) => {
      kept = words as string;
      return 'Kept.';
    },
    () => kept,
  );
};

describe('agents that share nothing', () => {
  // invariants: kit-calls-no-user-code, kit-limits-lifted
  test('are isolated; their own models and tools are not called for the check', async () => {
    const report = await expectIsolated(team(), { pairs: 150 });
    expect(report).toMatchObject({ ok: true, agent: 'lead', pairs: 150, differences: [] });
    // With less, the other cells would hardly have done anything.
    expect(report.sights / report.pairs).toBeGreaterThan(5);
    expect(report.bytes / report.pairs).toBeGreaterThan(5_000);
  });

  // invariant: pair-by-seed
  test('are checked with the same pairs for the same seed, and with others for another seed', async () => {
    const [one, same, other] = [
      await verifyIsolation(team(), { pairs: 40, seed: 7 }),
      await verifyIsolation(team(), { pairs: 40, seed: 7 }),
      await verifyIsolation(team(), { pairs: 40, seed: 7_000 }),
    ];
    expect(same).toEqual(one);
    expect([other.bytes, other.sights]).not.toEqual([one.bytes, one.sights]);
  });

  test('get notes on what was not checked', async () => {
    const { notes } = await verifyIsolation(team(), { pairs: 1 });
    expect(notes).toEqual([
      'The tools of the source "kit" are made up, because only the source itself could list them.',
      'Tools are not run, so what the code of recall, remember does is not covered.',
    ]);
    const alone = { agents: [defineAgent({ name: 'alone', description: 'A.', prompt: 'A.' })] };
    expect((await verifyIsolation(alone, { pairs: 3 })).notes).toEqual([
      '"alone" calls no other agents, so only its caller is compared.',
    ]);
  });
});

describe('agents whose tools share state', () => {
  test('are isolated as long as the tools are not run', async () => {
    expect(await verifyIsolation(sharing(), { pairs: 60, seed: 3 })).toMatchObject({ ok: true });
  });

  // invariant: pair-private-differs
  test('are detected when the tools are run, with a short case that shows it on its own', async () => {
    const { ok, differences } = await verifyIsolation(sharing(), { pairs: 500, seed: 1, realTools: true });
    expect(ok).toBe(false);
    const [difference] = differences;
    expect(difference).toMatchObject({
      sink: expect.stringMatching(/^lead › child #1: request \d to the model$/u),
      varied: expect.stringMatching(/^(?:lead|every "lead")$/u),
      shortest: expect.stringMatching(/^2 cells \(lead, lead › child #1\); .*remember/u),
    });
    expect(difference!.one).not.toBe(difference!.other);
    const again = await verifyIsolation(sharing(), printedOptions(difference!.again));
    expect(again).toMatchObject({ ok: false, pairs: 1, differences: [{ sink: difference!.sink }] });
  });

  test('fail the assertion with what, where, and how to reproduce it', async () => {
    const failing = expectIsolated(sharing(), { pairs: 500, seed: 1, realTools: true });
    await expect(failing).rejects.toBeInstanceOf(AssertionError);
    await expect(failing).rejects.toThrow(
      /^Private content of .*lead.* reaches another cell\.\n {2}seen by: +lead › child #1: request \d to the model, at character \d+\n {2}one run: +…".*"\n {2}the other: +…".*"\n {2}shortest: +2 cells .*\n {2}reproduce: +await expectIsolated\(workflow, \{ seed: \d+, pairs: 1, realTools: true \}\)$/u,
    );
  });

  test('may take real time without reaching other timeouts', async () => {
    const slow = team(
      async () => sleep(2, 'Slowly.'),
      async () => sleep(1, 'Slowly.'),
    );
    expect(await verifyIsolation(slow, { pairs: 25, seed: 1, realTools: true })).toMatchObject({ ok: true, pairs: 25 });
  });

  test('are distinguished from tools that never return the same result twice', async () => {
    let calls = 0;
    const counting = team(
      () => `Call ${++calls}.`,
      () => `Call ${++calls}.`,
    );
    const { differences } = await verifyIsolation(counting, { pairs: 200, seed: 1, realTools: true });
    expect(differences[0]?.varied).toBe('nothing (the same run gives a different result when repeated)');
  });
});

describe('the environment of agents', () => {
  const agents = team().agents as readonly { readonly name: string }[];
  const environment = (leaks: boolean): Environment => ({
    variablesOf: ({ name }) => [`KEY of ${name}`],
    fill: ({ name }, valueOf) =>
      leaks ? agents.map((agent) => valueOf(`KEY of ${agent.name}`)) : [valueOf(`KEY of ${name}`)],
  });
  const check = (leaks: boolean) =>
    checkIsolation({ agent: team().agents[0] as never, environment: environment(leaks) }, { pairs: 120, seed: 5 });

  // invariant: pair-compares-every-byte
  test('is compared: a value that belongs only to another agent is a difference', async () => {
    expect(await check(false)).toMatchObject({ ok: true });
    const { differences } = await check(true);
    expect(differences[0]?.sink).toMatch(/: environment$/u);
    expect(differences[0]?.varied).toMatch(/^every "lead/u);
  });
});

describe('a check', () => {
  test('stops after the current pair when the signal aborts, and reports its progress', async () => {
    const stop = new AbortController();
    const told: number[] = [];
    const report = await verifyIsolation(team(), {
      pairs: 10_000,
      signal: stop.signal,
      progress: (pairs) => {
        told.push(pairs);
        stop.abort();
      },
    });
    expect(report).toMatchObject({ ok: true, pairs: told[0], differences: [] });
    expect(report.pairs).toBeLessThan(200);
    expect(report.notes.at(-1)).toMatch(new RegExp(`^Only ${report.pairs} of 10000 pairs were compared`, 'u'));
  });

  test('fails if no pair could be compared', async () => {
    const tight = defineAgent({
      name: 'tight',
      description: 'T.',
      prompt: 'x'.repeat(9_000),
      limits: { contextTokensMax: 100 },
    });
    const report = await verifyIsolation({ agents: [tight] }, { pairs: 5 });
    const notes = [
      expect.stringMatching(/only its caller/u),
      expect.stringMatching(/"tight" ended with window_full\.$/u),
    ];
    expect(report).toMatchObject({ ok: false, pairs: 0, differences: [], notes });
    await expect(expectIsolated({ agents: [tight] }, { pairs: 5 })).rejects.toThrow(/^No pair could be compared/u);
  });

  test('requires the name of the agent if there are several', async () => {
    const two = ['one', 'two'].map((name) => defineAgent({ name, description: name, prompt: name }));
    await expect(verifyIsolation({ agents: two })).rejects.toThrow(
      /Several agents could be the root; choose one: one, two\./u,
    );
    expect(await verifyIsolation({ agents: two, agent: 'two' }, { pairs: 1 })).toMatchObject({ agent: 'two' });
    await expect(verifyIsolation({ agents: two, agent: 'three' })).rejects.toThrow(/"three" is not one of: one, two/u);
  });

  test('accepts an input if none can be drawn from the schema', async () => {
    const schema = {
      type: 'object',
      properties: { id: { type: 'string', pattern: '^AB-[0-9]{7}-x$' } },
      required: ['id'],
    };
    const strict = defineAgent({ name: 'strict', description: 'S.', prompt: 'S.', input: { format: 'json', schema } });
    await expect(verifyIsolation({ agents: [strict] }, { pairs: 1 })).rejects.toThrow(/pass one as `input`/u);
    const workflow = { agents: [strict], input: { id: 'AB-1234567-x' } };
    expect(await verifyIsolation(workflow, { pairs: 2 })).toMatchObject({ ok: true });
  });
});
