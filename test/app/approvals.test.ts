// Marks for approval in agent files and config: what applies to which agent, and what `check` says about them.
// invariants: marks-only-add, marked-with-children
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defineAgent, defineTeam } from 'cloister';
import type { Agent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { ApprovalMarks, ConfigLayer } from '#contracts';
import { resolveConfig } from '#core/registry';
import { addMarks } from '#core/rules';
import { ai, check, createFolders, load, open, problemLines } from './driver.ts';
import type { Files } from './driver.ts';

const ops = { by: ['ops'] };

const marksOf = async (files: Files, name = 'lead.ai'): Promise<ApprovalMarks | undefined> => {
  const registry = await load(createFolders(files), name);
  expect(problemLines(registry)).toEqual([]);
  return registry.agents[0]!.definition.approve;
};

const modelFile = { '~/.ai-agent/.ai-agent.json': { defaults: { models: ['ollama/x'] } } };

describe('an agent file', () => {
  test('marks its tools, and says that it asks', async () => {
    const folders = createFolders({ 'lead.ai': ai('tools: [write_file, read_file]\napprove: write_file\nasks: true') });
    const { agents } = await load(folders, 'lead.ai');
    expect(agents[0]!.definition).toMatchObject({ approve: { write_file: {} }, asks: true });
  });

  test.each([
    ['tools: write_file\napprove: write_fil', /^lead\.ai:6 approve: .*got "write_fil"; did you mean "write_file"\?/u],
    ['approve: read_file', /expected its own tools \(it has none\)/u],
    ['agents: ./helper.ai\napprove: helpr', /did you mean "helper"\?/u],
  ])('is refused if it marks what it does not have: %j', async (keys, words) => {
    const folders = createFolders({ ...modelFile, 'lead.ai': ai(keys), 'helper.ai': ai() });
    const report = await check(folders, ['lead.ai']);
    expect(problemLines(report)).toEqual([expect.stringMatching(words)]);
    expect(report.ok).toBe(false);
  });

  test('is refused if the config lists the tools of a server, and not the one that is marked', async () => {
    const config = { mcpServers: { notes: { module: './notes.mjs', tools: ['write', 'erase'] } } };
    const files = { '.ai-agent.json': config, 'notes.mjs': 'export default [];' };
    const folders = createFolders({ ...files, 'lead.ai': ai('tools: notes\napprove: [notes/erase, notes/wrote]') });
    expect(problemLines(await check(folders, ['lead.ai']))).toEqual([
      'lead.ai:6 approve: notes has no tool "wrote", so the mark has no effect; it has write, erase. (notes/write?)',
    ]);
  });
});

describe('the config', () => {
  const keys = 'tools: [write_file, mail]';
  const mail = { mcpServers: { mail: { url: 'http://127.0.0.1:9' } } };

  test('marks tools of every agent that has them, from all layers, and the nearest rule of a tool holds', async () => {
    const found = await marksOf({
      '.ai-agent.json': { ...mail, approve: { 'mail/send': { by: ['ops', 'legal'], need: 2 }, other: {} } },
      '~/.ai-agent/.ai-agent.json': { approve: { 'mail/send': ops, write_file: ops } },
      'lead.ai': ai(keys),
    });
    expect(found).toEqual({ 'mail/send': { by: ['legal', 'ops'], need: 2 }, write_file: ops });
  });

  test('can name those whose names no token may have: the operator, and the caller of MCP over standard input', async () => {
    const by = ['operator', 'ops', 'stdio'];
    const found = await marksOf({
      '.ai-agent.json': { approve: { write_file: { by } } },
      'lead.ai': ai('tools: write_file'),
    });
    expect(found).toEqual({ write_file: { by } });
  });

  test('and a file mark together; the file cannot change who answers', async () => {
    const config = { '.ai-agent.json': { ...mail, approve: { write_file: ops } } };
    const found = await marksOf({ ...config, 'lead.ai': ai(`${keys}\napprove: [write_file, mail/send]`) });
    expect(found).toEqual({ write_file: ops, 'mail/send': {} });
  });

  test('changes no definition of an agent that has none of the tools', async () => {
    const plain = createFolders({ 'lead.ai': ai('tools: read_file') });
    const marked = createFolders({ 'lead.ai': ai('tools: read_file'), '.ai-agent.json': { approve: { mail: {} } } });
    const [one, other] = [await load(plain, 'lead.ai'), await load(marked, 'lead.ai')];
    expect(other.agents[0]!.digest).toBe(one.agents[0]!.digest);
  });

  test('cannot be set by defaults', async () => {
    const folders = createFolders({ '.ai-agent.json': { defaults: { approve: ['write_file'] } }, 'lead.ai': ai() });
    expect(problemLines(await load(folders, 'lead.ai'))).toEqual([
      expect.stringContaining('Mark tools of all agents in `approve`, beside `defaults`.'),
    ]);
  });

  test('adding a layer never removes a mark, and each layer is as near as it stands', () => {
    const rules = fc.dictionary(
      fc.constantFrom('mail', 'mail/send', 'write_file', '__proto__'),
      fc.constantFrom({}, ops, { need: 2 }, { not: 'asker' as const }),
      { noNullPrototype: false },
    );
    const empty = {
      source: 's',
      folder: '/',
      providers: {},
      servers: {},
      defaults: {},
      agents: [],
      env: {},
      sidecar: {},
      plain: [],
    };
    const layer = (approve: NonNullable<ConfigLayer['approve']>): ConfigLayer => ({ ...empty, approve });
    const resolve = (all: readonly NonNullable<ConfigLayer['approve']>[]) => resolveConfig(all.map(layer)).approve;
    fc.assert(
      fc.property(fc.array(rules, { maxLength: 4 }), rules, fc.nat(4), (all, more, at) => {
        const [before, after] = [resolve(all), resolve(all.toSpliced(at, 0, more))];
        expect(Object.keys(after).toSorted()).toEqual(
          [...new Set([...Object.keys(before), ...Object.keys(more)])].toSorted(),
        );
        for (const name of Object.keys(after))
          expect(after[name]).toBe(all.toSpliced(at, 0, more).find((one) => Object.hasOwn(one, name))![name]);
        expect(Object.keys(addMarks({ write_file: {} }, after))).toEqual(expect.arrayContaining(Object.keys(after)));
      }),
    );
  });
});

describe('agents in code', () => {
  const config = { '.ai-agent.json': { approve: { write_file: ops } } };
  const define = (name: string, more: object = {}): Agent =>
    defineAgent({ name, description: 'Works.', prompt: 'Work.', models: [rehearse([{ reply: 'Done.' }])], ...more });
  const writer = define('writer', { tools: ['write_file'] });
  const lead = define('lead', { agents: [writer], models: ['ollama/x'] });
  const crew = defineTeam({ name: 'crew', agents: [writer] });

  test('have the marks of the config in a Cloister that reads one, with the agents below them', async () => {
    const folders = createFolders(config);
    const { cloister } = await open(folders, [lead, writer, crew]);
    const [first, second, third] = cloister.agents;
    expect(second!.definition.approve).toEqual({ write_file: ops });
    expect(first!.children.agents).toEqual([second]);
    expect(third!.team!.rules.members).toEqual({ writer: second!.digest });
  });

  test('have them if the config is named, and if they come later; without a config, they are as they were', async () => {
    const folders = createFolders(config);
    const named = await open(folders, [writer], { config: '.ai-agent.json' });
    expect(named.cloister.agents[0]!.definition.approve).toEqual({ write_file: ops });
    const late = define('late', { tools: ['write_file'] });
    named.cloister.register(late);
    expect(named.cloister.agents.at(-1)!.definition.approve).toEqual({ write_file: ops });
    const without = await open(folders, [writer]);
    expect(without.cloister.agents[0]).toBe(writer);
  });
});

describe('check', () => {
  test('lists what each agent asks before', async () => {
    const config = { '.ai-agent.json': { approve: { write_file: ops, unknown: {} } } };
    const folders = createFolders({
      ...config,
      'lead.ai': ai('tools: [write_file, read_file]\nagents: ./helper.ai\nasks: true'),
      'helper.ai': ai(),
    });
    const { reach, warnings } = await check(folders, ['lead.ai']);
    expect(reach['lead']).toMatchObject({ approve: { write_file: ops }, asks: true });
    expect(Object.keys(reach['helper']!)).not.toContain('approve');
    expect(warnings.filter(({ code }) => code === 'approve-unmatched')).toEqual([]);
  });

  test('warns of a mark in the config that no agent has a tool for, if it looks like one that exists', async () => {
    const config = { '.ai-agent.json': { approve: { write_fille: {}, payments: {} } } };
    const folders = createFolders({ ...config, 'lead.ai': ai('tools: write_file') });
    const { warnings, ok } = await check(folders, ['lead.ai']);
    expect(ok).toBe(true);
    expect(warnings.filter(({ code }) => code === 'approve-unmatched').map(({ message }) => message)).toEqual([
      '`approve` of .ai-agent.json, "write_fille": No agent here has such a tool. Did you mean "write_file"?',
    ]);
  });

  test('with --connect also knows the tools of servers: an error for a file, a warning for the config', async () => {
    const module = `export default [{ name: 'erase', description: 'x', inputSchema: { type: 'object' }, execute: () => 1 }];`;
    const folders = createFolders({
      'notes.mjs': module,
      '.ai-agent.json': { mcpServers: { notes: { module: './notes.mjs' } }, approve: { 'notes/drop': {} } },
      'lead.ai': ai('tools: notes\napprove: [notes/erase, notes/erose]'),
    });
    expect((await check(folders, ['lead.ai'])).ok).toBe(true);
    const report = await check(folders, ['lead.ai'], { connect: true });
    expect(problemLines(report)).toEqual([
      'lead.ai approve: notes has no tool "erose", so the mark has no effect; it has erase. (notes/erase?)',
    ]);
    expect(report.warnings.filter(({ code }) => code === 'approve-unmatched').map(({ message }) => message)).toEqual([
      '`approve` of .ai-agent.json, "notes/drop": notes has no tool "drop", so the mark has no effect; it has erase.',
    ]);
  });
});
