// Skills: descriptions in the prompt, the rest on demand, from folders that the agent may name.
import { chmodSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { defineAgent, loadSkills, openCloister } from 'cloister';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '#base';
import { rehearse } from '#testkit';
import type { ScriptLine } from '#testkit';
import { ai, check, createFolders, load, open, problemLines } from './driver.ts';
import type { Files } from './driver.ts';

const secret = 'swordfish-4711';

const skill = (name: string, { keys = '', text = `How to do ${name}.`, description = `Does ${name}.` } = {}): string =>
  `---\nname: ${name}\ndescription: ${description}\n${keys === '' ? '' : `${keys}\n`}---\n${text}\n`;

const forms: Files = {
  'lead.ai': ai('skills: ./skills'),
  'skills/forms/SKILL.md': skill('forms', { text: 'Fill every field. See references/fields.md.' }),
  'skills/forms/references/fields.md': 'name, date',
  'skills/forms/scripts/fill.py': 'print(1)',
  'skills/forms/logo.png': new Uint8Array([137, 80, 78, 71, 0, 1]),
  'skills/forms/.env': secret,
  'skills/letters/SKILL.md': skill('letters'),
};

const reading = (...calls: readonly JsonObject[]): readonly ScriptLine[] => [
  ...calls.map((args) => ({ times: 1, reply: { calls: [{ tool: 'read_skill', args }] } })),
  { reply: 'Done.' },
];

describe('an agent with skills', () => {
  test('is told their descriptions, and reads the rest with read_skill', async () => {
    const { cloister, model } = await open(createFolders(forms), ['lead.ai'], {
      says: reading(
        { skill: 'forms' },
        { skill: 'forms', file: './references/fields.md' },
        { skill: 'forms', file: 'logo.png' },
      ),
    });
    const { outcome, run } = cloister.run('lead', 'Go');
    expect((await outcome).status).toBe('completed');
    const [first, second, third, last] = model.requests.map(({ prompt }) => JSON.stringify(prompt));
    expect(first).toContain('- forms: Does forms.\\n- letters: Does letters.');
    expect(first).not.toContain('Fill every field');
    expect(second).toContain('Fill every field. See references/fields.md.');
    expect(second).toContain(
      '- logo.png (6 bytes, not text)\\n- references/fields.md (10 bytes)\\n- scripts/fill.py (8 bytes)',
    );
    expect(third).toContain('name, date');
    expect(last).toContain('logo.png cannot be shown: not text (6 bytes).');
    expect(last).not.toContain(secret);
    expect(await cloister.audit(run)).toMatchObject({ ok: true });
    const cell = (await cloister.show(run)).cells[0]!.cell;
    const explained = await cloister.explain(run, cell, { find: 'Fill every field' });
    expect(explained.segments.filter(({ found }) => found.length > 0).map(({ trail }) => trail)).toEqual([
      expect.arrayContaining([
        expect.objectContaining({ type: 'operation', name: 'tool:read_skill' }),
        {
          type: 'skill',
          agent: 'lead',
          skill: 'forms',
          file: null,
          sha256: cloister.agents[0]!.definition.skills![0]!.digest,
        },
      ]),
    ]);
  });

  // invariant: skills-as-defined
  test('has another definition when any file of a skill has changed, and the same one otherwise', async () => {
    const folders = createFolders(forms);
    const digest = async (): Promise<string> => (await load(folders, 'lead.ai')).agents[0]!.digest;
    const before = await digest();
    expect(await digest()).toBe(before);
    const seen = new Set([before]);
    for (const file of ['SKILL.md', 'references/fields.md', 'scripts/fill.py', 'logo.png']) {
      const path = `skills/forms/${file}`;
      folders.write({ [path]: file === 'SKILL.md' ? skill('forms', { text: 'Other.' }) : new Uint8Array([0, 7]) });
      seen.add(await digest());
      folders.write({ [path]: forms[path]! });
    }
    expect(seen.size).toBe(5);
    expect(await digest()).toBe(before);
  });

  test('resumes and replays a run with the skills it started with, and says which one has changed otherwise', async () => {
    const folders = createFolders(forms);
    const [workspace, copy] = [folders.path('workspace'), folders.path('copy')];
    const { promise: asked, resolve: arrived } = Promise.withResolvers<void>();
    const waits = (): { delayMs: number } => (arrived(), { delayMs: 1e9 });
    const says = [...reading({ skill: 'forms' }).slice(0, 1), { reply: waits }];
    const { cwd, env } = folders;
    const openIn = (place: string, script: readonly ScriptLine[] = [{ reply: 'Done.' }]) =>
      openCloister({ agents: ['lead.ai'], workspace: place, cwd, env, models: [rehearse(script)] });
    await using first = await openIn(workspace, says);
    const session = first.run('lead', 'Go');
    await asked;
    // Here the process dies, as far as the copy is concerned.
    cpSync(workspace, copy, { recursive: true });
    using database = new DatabaseSync(join(copy, 'cloister.db'));
    database.exec('DELETE FROM owners');
    session.cancel();
    await session.outcome;
    folders.write({ 'skills/forms/references/fields.md': 'other' });
    const changed = await openIn(copy);
    await expect(changed.resume(session.run)).rejects.toThrow(
      'The definition of "lead" has changed since the run started: skills (forms).',
    );
    await changed.close();
    folders.write({ 'skills/forms/references/fields.md': forms['skills/forms/references/fields.md']! });
    await using cloister = await openIn(copy);
    const resumed = await cloister.resume(session.run);
    expect(await resumed.outcome).toMatchObject({ status: 'completed', output: 'Done.' });
    expect(await cloister.audit(session.run)).toMatchObject({ ok: true });
    expect(await cloister.replay(session.run)).toMatchObject({ ok: true });
  });

  test('loses nothing else: an agent without skills has the definition that it had', async () => {
    const { agents } = await load(
      createFolders({ 'lead.ai': ai(), 'other.ai': ai('skills: []') }),
      'lead.ai',
      'other.ai',
    );
    expect(agents.map(({ definition }) => Object.keys(definition).includes('skills'))).toEqual([false, false]);
    expect(agents.map(({ definition: { tools } }) => tools)).toEqual([[], []]);
  });

  // invariant: skills-own-only
  test('reads no skill of its sub-agent, its caller, or the disk, whatever it asks for', async () => {
    const folders = createFolders({
      'lead.ai': ai('skills: ./skills/forms\nagents: ./child.ai'),
      'child.ai': ai('skills: ./private'),
      'private/hidden/SKILL.md': skill('hidden', { text: secret }),
      'secret.md': secret,
      ...Object.fromEntries(Object.entries(forms).filter(([path]) => path.startsWith('skills/'))),
    });
    const asked = [
      { skill: 'hidden' },
      { skill: 'forms', file: '../../secret.md' },
      { skill: 'forms', file: folders.path('secret.md') },
      { skill: 'forms', file: '.env' },
      { skill: 'forms', file: '__proto__' },
      { skill: 'forms', file: 'constructor' },
      { skill: '../../private/hidden' },
    ];
    const { cloister, model } = await open(folders, ['lead.ai'], { says: reading(...asked) });
    expect((await cloister.run('lead', 'Go').outcome).status).toBe('completed');
    expect(JSON.stringify(model.requests)).not.toContain(secret);
    expect(model.requests).toHaveLength(asked.length + 1);
    const last = JSON.stringify(model.requests.at(-1)!.prompt);
    expect(last.match(/has no file/gu)).toHaveLength(5);
    expect(model.requests[0]!.tools?.map(({ name }) => name)).toEqual(['read_skill', 'child', 'read_output']);
  });

  // invariant: skills-never-run
  test('runs nothing of them', async () => {
    const folders = createFolders(forms);
    const command = `touch ${folders.path('ran')}`;
    folders.write({
      'skills/letters/SKILL.md': skill('letters', { text: `Now: !\`${command}\`` }),
      'skills/letters/scripts/run.sh': `#!/bin/sh\n${command}\n`,
    });
    chmodSync(folders.path('skills/letters/scripts/run.sh'), 0o755);
    const says = reading({ skill: 'letters' }, { skill: 'letters', file: 'scripts/run.sh' });
    const { cloister, model } = await open(folders, ['lead.ai'], { says });
    expect((await cloister.run('lead', 'Go').outcome).status).toBe('completed');
    expect(JSON.stringify(model.requests).match(/touch /gu)!.length).toBeGreaterThan(1);
    expect(existsSync(folders.path('ran'))).toBe(false);
  });

  test('passes none of them on: a sub-agent has only its own', async () => {
    const files = { ...forms, 'lead.ai': ai('skills: ./skills\nagents: ./child.ai'), 'child.ai': ai() };
    const [lead] = (await load(createFolders(files), 'lead.ai')).agents;
    expect(lead!.children.agents[0]!.definition).not.toHaveProperty('skills');
    expect(JSON.stringify(lead!.children.agents[0]!.definition)).not.toContain('read_skill');
  });
});

describe('a folder is refused when it is', () => {
  const wrong = async (reference: string, prepare?: (path: (name: string) => string) => void, config?: Files) => {
    const folders = createFolders({
      'team/lead.ai': ai(`skills: ${reference}`),
      'team/own/SKILL.md': skill('own'),
      'else/far/SKILL.md': skill('far', { text: secret }),
      ...config,
    });
    prepare?.(folders.path);
    const registry = await load(folders, 'team/lead.ai');
    if (config === undefined) expect(JSON.stringify(registry.agents)).not.toContain(secret);
    return problemLines(registry).join('\n');
  };
  // invariant: skills-allowed-folders
  test.each([
    ['missing', 'gone', /No skill "gone" was found/u],
    ['a missing path', './gone', /No folder ".\/gone" was found/u],
    ['above the agent', '../else/far', /not below the folder of this file/u],
    ['above it by a detour', './own/../../else', /not below the folder/u],
    ['the agent’s own folder', '.', /not below the folder/u],
    ['without a skill', './empty', /Neither this folder nor a folder in it has a `SKILL.md`/u],
    ['a link to elsewhere', './link', /not below the folder/u],
    ['a URL', 'https://skills.invalid/far', /looks like a URL/u],
  ])('%s', async (_, reference, words) => {
    const found = await wrong(reference, (path) => {
      symlinkSync(path('else/far'), path('team/link'));
      mkdirSync(path('team/empty'));
    });
    expect(found).toMatch(words);
  });

  test('elsewhere, unless the operator’s config lists it: then its skills can be named', async () => {
    const config = (skills: readonly string[]): Files => ({ '.ai-agent.json': { skills: [...skills] } });
    for (const reference of ['far', '../else/far', '../else'])
      expect(await wrong(reference, undefined, config(['./else'])), reference).toBe('');
    expect(await wrong('far', undefined, config(['./other']))).toMatch(/No skill "far" was found/u);
  });

  test('one with the name of another skill of the agent', async () => {
    expect(await wrong('[./own, own]')).toMatch(/lead\.ai:5 .*unique names; "own" is used twice/u);
  });
});

describe('a hostile skill folder', () => {
  const one = async (files: Files, prepare?: (path: (name: string) => string) => void) => {
    const folders = createFolders({ 'lead.ai': ai('skills: ./bad'), 'secret.md': secret, ...files });
    mkdirSync(folders.path('bad'), { recursive: true });
    prepare?.(folders.path);
    const { agents, problems, warnings } = await load(folders, 'lead.ai');
    expect(JSON.stringify([agents, problems, warnings])).not.toContain(secret);
    return {
      skill: agents[0]?.resources.skills[0],
      problems,
      notes: warnings.map(({ message }) => message).join('\n'),
    };
  };
  const good = { 'bad/SKILL.md': skill('bad') };

  // invariant: skill-files-plain
  test('with links, pipes and odd names: they are named, not read', async () => {
    const { skill: read, notes } = await one({ ...good, 'bad/ok.md': 'fine' }, (path) => {
      symlinkSync(path('secret.md'), path('bad/link.md'));
      symlinkSync(path('.'), path('bad/up'));
      execFileSync('mkfifo', [path('bad/pipe')]);
      writeFileSync(path('bad/new\nline'), secret);
    });
    expect(read!.files).toEqual({ 'ok.md': 'fine' });
    for (const words of [
      '"link.md" is not read: it is a link',
      '"up" is not read',
      '"pipe" is not read',
      '"new\\nline"',
    ])
      expect(notes).toContain(words);
  });

  test('whose SKILL.md is a link, a folder or a pipe is a problem', async () => {
    const kinds: readonly ((path: (name: string) => string) => void)[] = [
      (path) => symlinkSync(path('secret.md'), path('bad/SKILL.md')),
      (path) => mkdirSync(path('bad/SKILL.md')),
      (path) => void execFileSync('mkfifo', [path('bad/SKILL.md')]),
    ];
    for (const prepare of kinds) {
      const { problems } = await one({}, prepare);
      expect(problems.map(({ file, message }) => [file, message])).toEqual([
        ['bad/SKILL.md', 'It cannot be read: it is not a regular file.'],
      ]);
    }
  });

  test('with large files, many files or deep folders has bounds', async () => {
    const large = await one({ ...good, 'bad/big.txt': 'x'.repeat(1_000_001) });
    expect(large.skill!.files).toEqual({ 'big.txt': { bytes: 1_000_001, why: 'too large to read' } });
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`bad/${index}.md`, '']));
    expect((await one({ ...good, ...many })).problems[0]!.message).toBe('It has more than 500 files.');
    const deep = await one({ ...good, [`bad/${'d/'.repeat(12)}x.md`]: secret });
    expect(deep.notes).toContain('folders are read down to 8 levels');
    const much = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`bad/${index}.md`, 'x'.repeat(999_999)]));
    expect((await one({ ...good, ...much })).problems[0]!.message).toMatch(/more than 8000000 bytes of text/u);
  });

  test('with a wrong SKILL.md says what is wrong, and where', async () => {
    const problem = async (text: string | Uint8Array) => {
      const { problems } = await one({ 'bad/SKILL.md': text });
      expect(problems).toHaveLength(1);
      const [{ file, line, key, message }] = problems as [(typeof problems)[number]];
      return `${file}:${line} ${key}: ${message}`;
    };
    expect(await problem('No frontmatter.')).toMatch(/^bad\/SKILL\.md:1 null: The frontmatter is missing/u);
    expect(await problem(skill('Bad_Name'))).toMatch(/^bad\/SKILL\.md:2 name: Expected lower-case letters/u);
    expect(await problem(skill('x'.repeat(65)))).toMatch(/name: Expected/u);
    expect(await problem('---\nname: bad\n---\n')).toMatch(/^bad\/SKILL\.md:1 description: Expected a text/u);
    expect(await problem(skill('bad', { description: '3' }))).toMatch(
      /^bad\/SKILL\.md:3 description: Expected a text/u,
    );
    expect(await problem(new Uint8Array([0, 1, 2]))).toMatch(/cannot be read: not text/u);
  });

  test('never crashes the loader, whatever its SKILL.md says, and gives no agent a tool', async () => {
    const folders = createFolders({ 'lead.ai': ai('skills: ./bad') });
    const line = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.constantFrom(
        '---',
        'name: bad',
        'description: x: y',
        'allowed-tools: [Bash]',
        'tools: all',
        '? {a: b}',
        '&a *a',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), async (lines) => {
        folders.write({ 'bad/SKILL.md': `---\n${lines.join('\n')}\n---\nText.` });
        const { agents } = await load(folders, 'lead.ai');
        for (const { definition } of agents)
          expect(definition.tools.map(({ name }) => name)).toEqual(
            definition.skills === undefined ? [] : ['read_skill', 'read_output'],
          );
      }),
      { numRuns: 60 },
    );
  });
});

// invariant: skill-keys-grant-nothing
test('check names the skills of each agent, and what in them has no effect', async () => {
  const keys = 'license: MIT\nmetadata: { author: me }\nallowed-tools: Bash(git:*) Read\nhooks: { start: x }';
  const report = await check(
    createFolders({
      ...forms,
      'skills/letters/SKILL.md': skill('letters', { keys, text: 'Today: !`date`. For $ARGUMENTS.' }),
      'skills/manual/SKILL.md': skill('manual', { keys: 'disable-model-invocation: true' }),
      'skills/other/SKILL.md': skill('another', { description: 'Use it when: asked' }),
      'plain.ai': ai(),
    }),
    ['lead.ai', 'plain.ai'],
  );
  expect(report.ok).toBe(true);
  expect(report.reach['lead']!.skills).toEqual(['forms', 'letters', 'another']);
  expect(report.reach['lead']!.tools).toEqual([]);
  expect(report.reach['plain']).not.toHaveProperty('skills');
  const notes = report.warnings.filter(({ code }) => code === 'skill-partly-used').map(({ message }) => message);
  expect(notes).toEqual([
    'skills/letters/SKILL.md: `allowed-tools` grants nothing: an agent has the tools that its own file lists.',
    'skills/letters/SKILL.md: `hooks`: ignored.',
    'skills/letters/SKILL.md: commands in its text (!`…`) are not run.',
    'skills/letters/SKILL.md: variables in its text ($ARGUMENTS …) are not filled in.',
    'skills/manual/SKILL.md: left out, because it says `disable-model-invocation: true`.',
    expect.stringMatching(/^skills\/other\/SKILL\.md: line 3 is not valid YAML/u),
    'skills/other/SKILL.md: its name is "another", but that of its folder is "other".',
  ]);
});

test('an agent can have hundreds of skills, and check says what they cost', async () => {
  const names = Array.from({ length: 300 }, (_, index) => `skill-${index}`);
  const many = names.map((name) => [`skills/${name}/SKILL.md`, skill(name, { description: 'x'.repeat(100) })]);
  const files = { 'lead.ai': ai('skills: skills'), ...(Object.fromEntries(many) as Files) };
  const report = await check(createFolders(files), ['lead.ai']);
  expect(report.reach['lead']!.skills).toHaveLength(300);
  expect(report.warnings).toContainEqual(
    expect.objectContaining({ code: 'skills-long', message: expect.stringContaining('its 300 skills add 32') }),
  );
  const more = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`skills/more-${index}/SKILL.md`, '']));
  expect((await check(createFolders({ ...files, ...more }), ['lead.ai'])).problems[0]!.message).toBe(
    'There are more than 500 skills.',
  );
});

test('a secret in a skill is a problem, like a secret in a prompt', async () => {
  const config = {
    providers: { own: { type: 'openai', apiKey: '${KEY}' } },
    env: { KEY: 'sk-Zq81mPx0Lr55TtYvW2' },
    defaults: { models: ['own/m'] },
  };
  const folders = createFolders({
    ...forms,
    '.ai-agent.json': config,
    'skills/forms/references/fields.md': 'sk-Zq81mPx0Lr55TtYvW2',
  });
  expect(problemLines(await load(folders, 'lead.ai')).join()).toMatch(/contains the value of a secret/u);
});

describe('in code', () => {
  const options = { name: 'lead', description: 'Leads.', prompt: 'Lead.' };
  const own = { name: 'forms', description: 'Fills\n  forms.', instructions: 'Fill.' };

  test('skills are given as data, or read with loadSkills', () => {
    const folders = createFolders(forms);
    const fromFolder = loadSkills(pathToFileURL(folders.path('skills')));
    expect(fromFolder.map(({ name }) => name)).toEqual(['forms', 'letters']);
    expect(loadSkills(folders.path('skills/forms'))).toEqual([fromFolder[0]]);
    const { definition } = defineAgent({ ...options, skills: [...fromFolder.slice(1), own] });
    expect(definition.skills!.map(({ name }) => name)).toEqual(['letters', 'forms']);
    expect(definition.guidance).toContain('- forms: Fills forms.');
    expect(() => loadSkills(folders.path('gone'))).toThrow(/there is no folder/u);
    expect(() => loadSkills(folders.path('skills/forms/scripts'))).toThrow(/has a `SKILL.md`/u);
  });

  test('wrong ones are refused', () => {
    const define = (wrong: object) => () => defineAgent({ ...options, skills: [{ ...own, ...wrong }] as never });
    expect(define({ name: 'Forms' })).toThrow(/skills\[0\]\.name: expected a name of lower-case letters/u);
    expect(define({ description: ' ' })).toThrow(/skills\[0\]\.description/u);
    expect(define({ description: 'x'.repeat(1_025) })).toThrow(/at most 1,024 characters/u);
    expect(define({ files: { a: 1 } })).toThrow(/skills\[0\]\.files/u);
    expect(define({ tools: ['x'] })).toThrow(/tools/u);
    expect(() => defineAgent({ ...options, skills: ['./skills'] as never })).toThrow(/loadSkills/u);
    expect(() => defineAgent({ ...options, skills: [own, own] })).toThrow(/"forms" is used twice/u);
    expect(() => defineAgent({ ...options, tools: ['read_skill'] })).toThrow(/`read_skill` comes with `skills`/u);
  });

  test('changing the object afterwards does not change the agent', () => {
    const files: Record<string, string> = { 'a.md': 'a' };
    const agent = defineAgent({ ...options, skills: [{ ...own, files }] });
    files['a.md'] = 'b';
    expect(agent.resources.skills[0]!.files).toEqual({ 'a.md': 'a' });
  });
});
