// A real run that was killed and resumed is judged well; the same evidence with one thing changed is not.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildSubject, repo } from '../../deep/build-subject.ts';
import type { Subject } from '../../deep/build-subject.ts';
import { judge } from '../../deep/judge.ts';
import { readWitness, runSubject } from '../../deep/run-subject.ts';
import type { Said, Seen } from '../../deep/subject/main.ts';
import type { Line } from '../../deep/subject/witness.ts';

type Evidence = { readonly lines: readonly Line[]; readonly said: Said };

const scratch = join(repo, 'test/.planted', `deep-test-${process.pid}`);
const folders: string[] = [];
let subject: Subject;
beforeAll(async () => {
  subject = await buildSubject(scratch);
});
afterAll(() => {
  for (const folder of [scratch, ...folders]) rmSync(folder, { recursive: true, force: true });
});

/** Dies in the middle of a payment, then another process goes on. */
const crashedInPayment = async (): Promise<Evidence> => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-judge-'));
  folders.push(folder);
  const workspace = join(folder, 'workspace');
  const first = await runSubject(subject, { does: 'run', workspace, by: 1, dieAfter: 'scribe: pay 2' });
  expect(first.code).toBe(null);
  const { said, stderr } = await runSubject(subject, { does: 'resume', workspace, by: 2 });
  expect(stderr).toBe('');
  return { lines: readWitness(workspace), said: said! };
};

const at = <T>(items: readonly T[], where: (item: T) => boolean): number => {
  const found = items.findIndex(where);
  if (found < 0) throw new Error('There is no such thing in the evidence.');
  return found;
};
const without = <T>(items: readonly T[], where: (item: T) => boolean): readonly T[] =>
  items.toSpliced(at(items, where), 1);
const after = ({ lines, said }: Evidence, change: (seen: Seen) => Partial<Seen>): Evidence => {
  const seen = said.after[0]!;
  return { lines, said: { ...said, after: [{ ...seen, ...change(seen) }] } };
};
const before = ({ lines, said }: Evidence, change: (seen: Seen) => Partial<Seen>): Evidence => {
  const seen = said.before[0]!;
  return { lines, said: { ...said, before: [{ ...seen, ...change(seen) }] } };
};
const told = ({ lines, said }: Evidence, more: readonly Line[]): Evidence => ({ lines: [...lines, ...more], said });
const effectOf = ({ lines }: Evidence, repeat: string) =>
  lines.find((line) => line.saw === 'effect' && line.by === 1 && line.repeat === repeat) as Extract<
    Line,
    { saw: 'effect' }
  >;
const isAcknowledged = ({ lines }: Evidence) => {
  const newest = Math.max(...lines.flatMap((line) => (line.saw === 'ack' && line.by === 1 ? [line.no] : [])));
  return ({ no }: { readonly no: number }) => no === newest;
};

const lies: readonly (readonly [what: string, tell: (evidence: Evidence) => Evidence, found: RegExp])[] = [
  [
    'an acknowledged frame was lost in the crash',
    (e) => before(e, ({ frames }) => ({ frames: without(frames, isAcknowledged(e)) })),
    /acknowledged frame \d+ .* is not there before/u,
  ],
  [
    'an acknowledged frame is not what was written',
    (e) => after(e, ({ frames }) => ({ frames: frames.map((f) => (isAcknowledged(e)(f) ? { ...f, sha: 'x' } : f)) })),
    /acknowledged frame \d+ .* is not there after/u,
  ],
  [
    'a frame that nobody wrote',
    (e) => after(e, ({ frames }) => ({ frames: [...frames, { ...frames.at(-1)!, no: frames.length }] })),
    /is not one that was written/u,
  ],
  ['two endings', (e) => after(e, ({ frames }) => ({ frames: [...frames, frames.at(-1)!] })), /there are 2 endings/u],
  ['no ending', (e) => after(e, ({ frames }) => ({ frames: frames.slice(0, -1) })), /there are 0 endings/u],
  [
    'an operation without a settlement',
    (e) => after(e, ({ frames }) => ({ frames: without(frames, (f) => f.about.type === 'settle') })),
    /has settled 0 times/u,
  ],
  ['an effect that may happen once, twice', (e) => told(e, [{ ...effectOf(e, 'never'), by: 2 }]), /happened 2 times/u],
  [
    'an effect that had settled, again',
    (e) => told(e, [{ ...effectOf(e, 'free'), by: 2 }]),
    /had settled, and process 2 did it again/u,
  ],
  [
    'an effect without a recorded intent',
    (e) => told(e, [{ ...effectOf(e, 'never'), key: 'lead-0/99', what: 'unheard of' }]),
    /its intent is not in the log/u,
  ],
  ['a key that changes', (e) => told(e, [{ ...effectOf(e, 'never'), by: 2, key: 'lead-0/99' }]), /had several keys/u],
  [
    'a model that was asked again after it had answered',
    (e) => told(e, [{ by: 2, saw: 'model', agent: 'lead', turn: 1 }]),
    /lead, turn 1: had been answered, and process 2 asked again/u,
  ],
  ['a kept value that is gone', (e) => after(e, () => ({ blobs: [] })), /a kept value \w+ is not there/u],
  ['a second outcome', (e) => told(e, [e.lines.find(({ saw }) => saw === 'outcome')!]), /2 outcomes were given/u],
  ['another ending', (e) => after(e, () => ({ status: 'failed' })), /the run ended failed/u],
  [
    'a dead run that is called running',
    (e) => before(e, () => ({ state: 'running' })),
    /a dead run was shown as running/u,
  ],
  ['an audit that finds something', (e) => after(e, () => ({ audit: ['x'] })), /the audit after the resume: x/u],
  ['a file that is gone', (e) => after(e, () => ({ files: [null, null] })), /was written, and is not there/u],
  ['half a file', (e) => after(e, ({ files }) => ({ files: ['The', files[1]!] })), /is cut: 3 characters/u],
  [
    'an unknown outcome that is not told',
    (e) =>
      after(e, ({ frames }) => ({
        frames: frames.map((f) =>
          f.about.failure === 'indeterminate' ? { ...f, about: { ...f.about, ok: true, failure: undefined } } : f,
        ),
      })),
    /the model was not told that nobody knows/u,
  ],
  [
    'a known outcome that is called unknown',
    (e) =>
      after(e, ({ frames }) => ({
        frames: frames.map((f) =>
          f.about.type === 'settle' && f.about.ok === true
            ? { ...f, about: { ...f.about, failure: 'indeterminate' } }
            : f,
        ),
      })),
    /is called indeterminate without reason/u,
  ],
];

describe('of a run that was killed while a payment was under way, the judge', () => {
  let evidence: Evidence;
  beforeAll(async () => {
    evidence = await crashedInPayment();
  });

  test('finds nothing', () => expect(judge(evidence.lines, evidence.said)).toEqual([]));
  test.each(lies)('finds %s', (_what, lie, found) => {
    const { lines, said } = lie(evidence);
    expect(judge(lines, said).join('\n')).toMatch(found);
  });
});
