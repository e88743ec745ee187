// `${include:…}` in the prompt of a file: only text from the agent's own folder.
import { linkSync, mkdirSync, symlinkSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { includeFiles } from '#testing/app/agents';
import { ai, createFolders, load, open, problemLines } from './driver.ts';

const secret = 'swordfish-4711';

/** The resulting prompt of an agent in the folder `team`, and its problems. */
const includedPrompt = async (
  prompt: string,
  files: Readonly<Record<string, string>>,
  prepare?: (path: (name: string) => string) => void,
) => {
  const folders = createFolders({ 'team/lead.ai': ai('', prompt), ...files });
  prepare?.(folders.path);
  const registry = await load(folders, 'team/lead.ai');
  return {
    prompt: registry.agents[0]?.prompt,
    problems: problemLines(registry),
    whole: JSON.stringify([registry.agents, registry.problems]),
  };
};

test('text from files beside or below the agent is inserted in place', async () => {
  const { prompt, problems } = await includedPrompt(
    'Before ${include:style.md} and ${include: notes/deep.md } after.',
    {
      'team/style.md': '\uFEFFBe brief.\r\n',
      'team/notes/deep.md': 'Deep: ${include:deeper.md}, ${include:../style.md}\n',
      'team/notes/deeper.md': '$& and $1',
    },
  );
  expect(problems).toEqual([]);
  expect(prompt).toBe('Before Be brief. and Deep: $& and $1, Be brief. after.\n');
});

// invariant: include-part-of-definition
test('included text is part of the definition: recorded with the run, and a run is not resumed when it has changed', async () => {
  const folders = createFolders({
    'lead.ai': ai('', 'Style: ${include:style.md} on ${DATE}'),
    'style.md': 'Be ${FORMAT}.',
  });
  const { cloister, model } = await open(folders, ['lead.ai']);
  const { outcome, run } = cloister.run('lead', 'Go');
  expect((await outcome).status).toBe('completed');
  expect(JSON.stringify(model.requests[0]!.prompt[0])).toMatch(/Style: Be plain text\. on \d{4}-\d\d-\d\d/u);
  expect(await cloister.audit(run)).toMatchObject({ ok: true });
  const before = cloister.agents[0]!.digest;
  folders.write({ 'style.md': 'Be otherwise.' });
  expect((await open(folders, ['lead.ai'])).cloister.agents[0]!.digest).not.toBe(before);
});

describe('an include is refused, quoting what was written, when it is', () => {
  const noSuch = /no such file in the agent's folder/u;
  const cases: Record<string, [prompt: string, words: RegExp, prepare?: (path: (name: string) => string) => void]> = {
    missing: ['${include:gone.md}', noSuch],
    'above the folder': ['${include:../secret.md}', noSuch],
    'above it by a detour': ['${include:notes/../../secret.md}', noSuch],
    'an absolute path': ['${include:/etc/passwd}', noSuch],
    'a link that leads out': [
      '${include:out.md}',
      noSuch,
      (path) => symlinkSync(path('secret.md'), path('team/out.md')),
    ],
    'below a link that leads out': [
      '${include:up/secret.md}',
      noSuch,
      (path) => symlinkSync(path('.'), path('team/up')),
    ],
    'a hidden file': ['${include:.ai-agent.env}', noSuch],
    'in a hidden folder': ['${include:.git/config}', noSuch],
    'a link to a hidden file': [
      '${include:in.md}',
      noSuch,
      (path) => symlinkSync(path('team/.ai-agent.env'), path('team/in.md')),
    ],
    'a folder': ['${include:notes}', noSuch],
    'the folder itself': ['${include:.}', noSuch],
    'a device': ['${include:zero}', noSuch, (path) => symlinkSync('/dev/zero', path('team/zero'))],
    itself: ['${include:lead.ai}', /the file includes itself: lead\.ai → lead\.ai/u],
    'a file that includes itself': ['${include:a.md}', /the file includes itself: a\.md → notes\/b\.md → a\.md/u],
    'larger than a prompt may be': ['${include:large.md}', /exceed 1000000 bytes/u],
    'a large file included many times': [
      '${include:half.md}${include:half.md}${include:half.md}',
      /exceed 1000000 bytes/u,
    ],
  };

  // invariant: include-own-folder
  test.each(Object.entries(cases))('%s', async (_, [prompt, words, prepare]) => {
    const files = {
      'secret.md': secret,
      'team/.ai-agent.env': `KEY=${secret}`,
      'team/.git/config': secret,
      'team/a.md': '${include:notes/b.md}',
      'team/notes/b.md': '${include:../a.md}',
      'team/large.md': 'x'.repeat(1_000_001),
      'team/half.md': 'x'.repeat(400_000),
    };
    const found = await includedPrompt(prompt, files, prepare);
    expect(found.prompt).toBeUndefined();
    expect(found.problems.length).toBeGreaterThan(0);
    for (const problem of found.problems) {
      expect(problem).toMatch(/^team\/lead\.ai: \$\{include:/u);
      expect(problem).toMatch(words);
    }
    expect(found.whole).not.toContain(secret);
  });
});

test('includes nested too deeply are refused, and those at the limit are not', async () => {
  const chain = (length: number) =>
    Object.fromEntries(
      Array.from({ length }, (_, at) => [`team/${at}.md`, at + 1 < length ? `\${include:${at + 1}.md}` : 'End.']),
    );
  expect((await includedPrompt('${include:0.md}', chain(8))).prompt).toBe('End.\n');
  expect((await includedPrompt('${include:0.md}', chain(9))).problems[0]).toMatch(/nested deeper than 8/u);
});

test('all problems with the includes of a file are reported together', async () => {
  const { problems } = await includedPrompt('${include:a}${include:b}${include:../c}', {});
  expect(problems).toHaveLength(3);
});

// invariant: include-own-folder
test('whatever is written between the braces, nothing outside the folder is read', () => {
  const folders = createFolders({
    'team/lead.ai': ai(),
    'secret.md': secret,
    'team/ok.md': 'fine',
    'team/.env': secret,
  });
  mkdirSync(folders.path('team/sub'));
  linkSync(folders.path('team/ok.md'), folders.path('team/sub/ok.md'));
  const part = fc.constantFrom(
    '..',
    '.',
    '',
    'sub',
    'team',
    'ok.md',
    'secret.md',
    '.env',
    '/',
    '%2e%2e',
    '\\',
    '\0',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, absolute) => {
      const name = `${absolute ? folders.path('team/') : ''}${parts.join('/')}`;
      const { text } = includeFiles(`[\${include:${name}}]`, folders.path('team/lead.ai'));
      expect(text).not.toContain(secret);
    }),
    { numRuns: 500 },
  );
});

test('a prompt without an include is left unchanged, whatever else is in it', () => {
  const prompt = '${INCLUDE:x} ${include} ${include:} $${x} ${include:\n}';
  expect(includeFiles(prompt, '/nowhere/lead.ai')).toEqual({ text: prompt, problems: [] });
});
