// The judge finds nothing in a real run that was killed and resumed, and finds each single change to the same evidence.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildSubject, repo } from '../../deep/build-subject.ts';
import type { Subject } from '../../deep/build-subject.ts';
import { judge } from '../../deep/judge.ts';
import { readWitness, runSubject } from '../../deep/run-subject.ts';
import type { SubjectReport, StoredRunState } from '../../deep/subject/main.ts';
import type { WitnessLine } from '../../deep/subject/witness.ts';

type Evidence = { readonly lines: readonly WitnessLine[]; readonly said: SubjectReport };

const scratch = join(repo, 'test/.planted', `deep-test-${process.pid}`);
const folders: string[] = [];
let subject: Subject;
beforeAll(async () => {
  subject = await buildSubject(scratch);
});
afterAll(() => {
  for (const folder of [scratch, ...folders]) rmSync(folder, { recursive: true, force: true });
});

/** The process dies in the middle of a payment, then another process resumes. */
const crashedInPayment = async (): Promise<Evidence> => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-judge-'));
  folders.push(folder);
  const workspace = join(folder, 'workspace');
  const first = await runSubject(subject, { command: 'run', workspace, processNo: 1, dieAfter: 'scribe: pay 2' });
  expect(first.code).toBe(null);
  const { report, stderr } = await runSubject(subject, { command: 'resume', workspace, processNo: 2 });
  expect(stderr).toBe('');
  return { lines: readWitness(workspace), said: report! };
};

const at = <T>(items: readonly T[], where: (item: T) => boolean): number => {
  const found = items.findIndex(where);
  if (found < 0) throw new Error('The evidence contains no such item.');
  return found;
};
const without = <T>(items: readonly T[], where: (item: T) => boolean): readonly T[] =>
  items.toSpliced(at(items, where), 1);
const after = ({ lines, said }: Evidence, change: (seen: StoredRunState) => Partial<StoredRunState>): Evidence => {
  const seen = said.after[0]!;
  return { lines, said: { ...said, after: [{ ...seen, ...change(seen) }] } };
};
const before = ({ lines, said }: Evidence, change: (seen: StoredRunState) => Partial<StoredRunState>): Evidence => {
  const seen = said.before[0]!;
  return { lines, said: { ...said, before: [{ ...seen, ...change(seen) }] } };
};
const withLines = ({ lines, said }: Evidence, more: readonly WitnessLine[]): Evidence => ({
  lines: [...lines, ...more],
  said,
});
const effectOf = ({ lines }: Evidence, repeat: string) =>
  lines.find((line) => line.saw === 'effect' && line.by === 1 && line.repeat === repeat) as Extract<
    WitnessLine,
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
    /acknowledged frame \d+ .* is missing before/u,
  ],
  [
    'an acknowledged frame that was altered',
    (e) => after(e, ({ frames }) => ({ frames: frames.map((f) => (isAcknowledged(e)(f) ? { ...f, sha: 'x' } : f)) })),
    /acknowledged frame \d+ .* is missing after/u,
  ],
  [
    'a frame that nobody wrote',
    (e) => after(e, ({ frames }) => ({ frames: [...frames, { ...frames.at(-1)!, no: frames.length }] })),
    /was never written/u,
  ],
  [
    'two close frames',
    (e) => after(e, ({ frames }) => ({ frames: [...frames, frames.at(-1)!] })),
    /there are 2 close frames/u,
  ],
  ['no close frame', (e) => after(e, ({ frames }) => ({ frames: frames.slice(0, -1) })), /there are 0 close frames/u],
  [
    'an operation without a settlement',
    (e) => after(e, ({ frames }) => ({ frames: without(frames, (f) => f.about.type === 'settle') })),
    /settled 0 times/u,
  ],
  [
    'a once-only effect that happens twice',
    (e) => withLines(e, [{ ...effectOf(e, 'never'), by: 2 }]),
    /happened 2 times/u,
  ],
  [
    'a settled effect that is repeated',
    (e) => withLines(e, [{ ...effectOf(e, 'free'), by: 2 }]),
    /had settled, but process 2 repeated it/u,
  ],
  [
    'an effect without a recorded intent',
    (e) => withLines(e, [{ ...effectOf(e, 'never'), key: 'lead-0/99', what: 'unheard of' }]),
    /its intent is not in the log/u,
  ],
  [
    'a key that changes',
    (e) => withLines(e, [{ ...effectOf(e, 'never'), by: 2, key: 'lead-0/99' }]),
    /had several keys/u,
  ],
  [
    'a request that was sent again after it had been answered',
    (e) => withLines(e, [{ by: 2, saw: 'model', agent: 'lead', turn: 1 }]),
    /lead, turn 1: had been answered, but process 2 sent the request again/u,
  ],
  ['a stored value that is gone', (e) => after(e, () => ({ blobs: [] })), /the stored value \w+ is missing/u],
  ['a second outcome', (e) => withLines(e, [e.lines.find(({ saw }) => saw === 'outcome')!]), /there are 2 outcomes/u],
  ['another status', (e) => after(e, () => ({ status: 'failed' })), /the run ended with status failed/u],
  [
    'a dead run that is called running',
    (e) => before(e, () => ({ state: 'running' })),
    /a dead run was listed as running/u,
  ],
  ['an audit that finds something', (e) => after(e, () => ({ audit: ['x'] })), /the audit after the resume: x/u],
  ['a file that is gone', (e) => after(e, () => ({ files: [null, null] })), /was written, but is missing/u],
  ['a truncated file', (e) => after(e, ({ files }) => ({ files: ['The', files[1]!] })), /is truncated: 3 characters/u],
  [
    'an unknown outcome that is not reported',
    (e) =>
      after(e, ({ frames }) => ({
        frames: frames.map((f) =>
          f.about.failure === 'indeterminate' ? { ...f, about: { ...f.about, ok: true, failure: undefined } } : f,
        ),
      })),
    /the model was not told that its outcome is unknown/u,
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
    /is marked indeterminate without reason/u,
  ],
];

describe('the judge of a run that was killed while a payment was in flight', () => {
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
