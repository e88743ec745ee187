// Every example runs as its README says, and prints what it should.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ownPackage, repo, run } from './e2e/driver.ts';
import type { ProcessResult } from './e2e/driver.ts';

const example = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<ProcessResult> =>
  run(process.execPath, ['--conditions=cloister-source', 'tools/example.ts', ...args], { cwd: repo, env });

/** One example runs from source, the others from the built package: that takes a third of the time. */
const envFor = (name: string): Readonly<Record<string, string>> =>
  name === 'hello' ? {} : { NODE_OPTIONS: `--import ${ownPackage}` };

const names = readdirSync('examples').filter((name) => name !== 'README.md');

const says: Record<string, readonly RegExp[]> = {
  research: [/SQLite for records that change/u, /found by operator; same source: engineer/u],
  api: [
    /^completed Rome Go\. 0\.00/u,
    /guide weather true\nguide population true\n/u,
    /\n2 \d+ true 0 true\ncompleted refund allowed small-sums\nStay at home\.\nagent_unknown\ncompleted\nGo to Rome\.\nDone after a while\. 2 0\n$/u,
  ],
  hello: [/^completed A cell is one agent at work/u, /unattributedBytes: 0/u, /ok: true/u],
  tested: [/✔ no agent of the desk sees private content of another/u, /pass 10/u, /fail 0/u],
  dungeon: [
    /You: We try the iron door\.\n(?:(?:fighter|wizard|rogue): I .*\n){3}Stone grinds on stone/u,
    /At the table: cave:fighter \(waiting\), cave:wizard \(waiting\), cave:rogue \(waiting\)/u,
    /completed: 4 cells, all ended: true; 36 broadcasts read; audit ok: true, unattributed 0/u,
  ],
  analysts: [
    /^Not yet: add an index first\.\n(?:- (?:sql|security|cost)-analyst: .*\n){3}/u,
    /- cost-analyst: About 90 dollars a month/u,
    /completed: 4 cells, audit ok: true, unattributed 0/u,
  ],
  approval: [
    /^desk > office > mailer wants to call mail__send: "anna@example\.com"\nallowed, completed: The office says: Sent to/u,
    /^To: anna@example\.com$/mu,
    /audit ok: true, unattributed 0/u,
  ],
  continue: [
    /^(?:- part [1-6]: .*\n){6}reader at level 0: 1\d{4} bytes in its window\n/u,
    /reader at level 2: 1\d{4} bytes/u,
    /completed, audit ok: true, unattributed 0/u,
  ],
  dependencies: [
    /^memoryScope: dependencies +memoryScope: all\n/u,
    /\n## Context from prerequisite tasks +## Results of all tasks so far\n/u,
    /\n {60}### The licence \(by lawyer\)\n/u,
    /dependencies: from facts, granted as dependencies; audit ok: true\n {2}SQLite waits .* need not wait\.\n/u,
    /all: from facts, licence, granted as all; audit ok: true\n .*public domain/u,
  ],
  patterns: [
    /^sequence: completed, audit ok: true\n {2}step-1 \(writer\): .*\n {2}step-2 \(writer after step-1\)/u,
    /fan-out: completed, audit ok: true\n(?: {2}part-[123] \(writer\): (?:Speed|Safety|Cost): a first line\.\n){3} {2}gather/u,
    /map: completed, audit ok: true\n(?: {2}item-[1-4] \(writer\): .*\n){4}/u,
    /debate: completed, audit ok: true\n(?: {2}round-.*\n){4} {2}verdict \(critic after round-1-a, round-1-b, round-2-a, round-2-b\)/u,
    /review: completed.*\n.*SQLite is nice\.\n.*Nice how.*\n.*draft-2 .*one file\.\n.*review-2 .*: ACCEPTED\n.*draft-3 .*: skipped/u,
    /router: completed.*\n.*: billing\n {2}route-billing .*: Billing, after "billing"\n {2}route-technical .*: skipped\n/u,
  ],
  'side-by-side': [
    /^plain loop: 5 of 7 prompts show the secret, mails sent: 1\na person is asked about office__send_mail, and denies it\n/u,
    /Cloister: 1 of 8 prompts show the secret, of accountant; mails sent: 0\nOffer to Bluebird: 200 blue bicycles by May, at 540 euros each\.\n/u,
    /audit ok: true, refused 1, unattributed 0/u,
  ],
  skills: [
    /^Invoice 7\. I checked: Every invoice has: number,/u,
    /bytes from the skill invoices, SKILL\.md\n\d+ bytes from the skill invoices, references\/fields\.md\n/u,
    /completed, audit ok: true, unattributed 0/u,
  ],
  limits: [
    /three steps: limit \(AgentLimitExceeded\("max_steps"\)\)/u,
    /two turns: partial \(turns_used\) "I looked/u,
    /2,100 tokens: budget \(The request needs [\d,]+ tokens, but [\d,]+ tokens of 2,100 .*\) "I look again\."/u,
    /nothing: budget \(A reply may use a quarter of the budget\. .*\) ""/u,
    /late: partial \(missing slow\) "One answered/u,
    /slow agent: timeout \(deadline_passed\) ""/u,
  ],
};

describe.concurrent('npm run example', () => {
  test.each(names)('%s', async (name) => {
    expect(Object.keys(says)).toContain(name);
    expect(readFileSync(`examples/${name}/README.md`, 'utf8')).toContain(`npm run example -- ${name}`);
    expect(existsSync(`examples/${name}/main.ts`)).toBe(true);
    const { code, stdout } = await example([name], envFor(name));
    expect(code).toBe(0);
    for (const words of says[name]!) expect(stdout).toMatch(words);
  });

  test('lists all examples when given no name', async () => {
    const { stdout } = await example([]);
    for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'mu'));
  });

  test('lists the examples when the name is wrong', async () => {
    expect(await example(['helo'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(
        'analysts, api, approval, continue, dependencies, dungeon, hello, limits, patterns, research, side-by-side, skills, tested',
      ),
    });
  });

  test('the README’s twelve lines are the example `hello`', () => {
    const code = readFileSync('examples/hello/main.ts', 'utf8').trim();
    expect(readFileSync('README.md', 'utf8')).toContain(code);
    expect(code.split('\n').filter((line) => line !== '')).toHaveLength(12);
  });
});
