// `cloister show --html`: one run in one file, as a server would answer about it.
// invariants: kept-run-as-served, kept-run-is-data, kept-run-bounded
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { buildServer } from '../../src/app/build-server.ts';
import { pageOfRun } from '../../src/app/page-of-run.ts';

const hostile = `</script><script>alert(1)</script><!-- <script> \u2028\u2029 \ud800 <img src=x onerror=alert(2)> ]]> $& $1`;

const runOnce = async () => {
  const models = [
    rehearse([
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: [{ tool: 'scout', args: { prompt: hostile, reason: 'r' } }] },
      },
      { when: { agent: 'scout' }, reply: `Scouted: ${hostile}` },
      { when: { agent: 'lead' }, reply: `Done: ${hostile}` },
    ]),
  ];
  const scout = defineAgent({ name: 'scout', description: 'd', prompt: 'Scout.', models });
  const lead = defineAgent({ name: 'lead', description: 'd', prompt: 'Lead.', models, agents: [scout] });
  const cloister = await openCloister({ agents: [lead], store: 'memory' });
  const { run } = await cloister.run('lead', hostile).outcome;
  return { cloister, run };
};

const opening = '<script type="application/json" id="kept-run">';

/** As a browser finds it: the element ends at the first end tag. */
const readKept = (html: string): { run: string; answers: Record<string, any>; leftOut: string[] } => {
  expect(html.split(opening)).toHaveLength(2);
  const text = html.slice(html.indexOf(opening) + opening.length);
  return JSON.parse(text.slice(0, text.toLowerCase().indexOf('</script')));
};

describe('a run in one file', () => {
  test('is what a server answers about it, with its contents', async () => {
    const { cloister, run } = await runOnce();
    const { html, leftOut } = await pageOfRun(cloister, run);
    const kept = readKept(html);
    expect([kept.run, leftOut, kept.leftOut]).toEqual([run, [], []]);
    const server = await buildServer(cloister, {}, { operatorName: 'file', isStudio: true });
    const get = async (path: string) =>
      (
        await server.fetch(
          new Request(`http://127.0.0.1/v1/runs/${run}${path}`, {
            headers: { authorization: `Bearer ${server.token}` },
          }),
        )
      ).json();
    const cells = kept.answers['']!.cells.map(({ cell }: any) => cell as string);
    expect(cells).toHaveLength(2);
    const paths = ['', '/ledger', '/audit', '/windows', '/tasks', '/mail', '/messages', '/questions', '/transcript'];
    const others = ['/events', '/transcript?full=true', ...cells.map((cell: string) => `/explain?cell=${cell}`)];
    expect(new Set(Object.keys(kept.answers))).toEqual(new Set([...paths, ...others]));
    for (const path of [...paths, ...others.slice(1)])
      expect([path, kept.answers[path]]).toEqual([path, await get(path)]);
    expect(kept.answers['/events']).toEqual(await get('/events?limit=10000&details=true'));
    expect(JSON.stringify(kept.answers['/events'])).toContain('"details"');
  });

  test('has no markup of its texts, and its policy allows the scripts of the page only', async () => {
    const { cloister, run } = await runOnce();
    const { html } = await pageOfRun(cloister, run);
    const beforeCode = html.slice(0, html.lastIndexOf('<script type="module">'));
    expect(beforeCode.match(/<script/gu)).toHaveLength(1);
    expect(/<img|<!--|\u2028|\u2029/u.exec(beforeCode)).toBe(null);
    expect(readKept(html).answers[''].goal).toContain('</script><script>alert(1)</script>');
    const [, policy = ''] = /http-equiv="content-security-policy" content="([^"]+)"/u.exec(html) ?? [];
    const script = html.slice(html.lastIndexOf('<script type="module">') + '<script type="module">'.length);
    const code = script.slice(0, script.indexOf('</script>'));
    expect(policy).toContain(`script-src 'sha256-${createHash('sha256').update(code).digest('base64')}'`);
    expect(policy).toContain("default-src 'none'");
    expect(/(?:src|href)="(?:https?:)?\/\//u.exec(beforeCode)).toBe(null);
  });

  test('leaves out what is too long, and says what', async () => {
    const { cloister, run } = await runOnce();
    const { answers } = readKept((await pageOfRun(cloister, run)).html);
    const lengthOf = (path: string): number => JSON.stringify(answers[path]).length;
    const [one] = Object.keys(answers).filter((path) => path.startsWith('/explain'));
    const few = await pageOfRun(cloister, run, { all: 1e9, explanations: lengthOf(one!) + 10 });
    expect(few.leftOut).toHaveLength(1);
    expect(few.leftOut[0]).toMatch(/^\/explain\?cell=/u);
    expect(readKept(few.html).leftOut).toEqual(few.leftOut);
    const small = await pageOfRun(cloister, run, { all: lengthOf('') + lengthOf('/events'), explanations: 1e9 });
    expect(small.leftOut).toContain('/events?details=true');
    expect(JSON.stringify(readKept(small.html).answers['/events'])).not.toContain('"details"');
    await expect(pageOfRun(cloister, run, { all: lengthOf('') + 100, explanations: 1e9 })).rejects.toThrow(/too long/u);
    await expect(pageOfRun(cloister, 'ffffffffffff')).rejects.toThrow(/html:/u);
  });
});
