// kill -9 at random moments: of the run, of the resume, of the resume of the resume; at times two processes resume at once.
// Then a process that nobody disturbs goes on, and what is left is judged.
import { join } from 'node:path';
import type { Subject } from './build-subject.ts';
import { judge } from './judge.ts';
import { randomFrom } from './random.ts';
import { readWitness, runSubject, runWhole } from './run-subject.ts';
import type { Ended } from './run-subject.ts';
import type { Line } from './subject/witness.ts';
import { eachCase, inFolder, withFolder } from './trial.ts';
import type { Trial } from './trial.ts';

const loops = 200;
/** A run tells some 80 things and takes some 150 ms here; kills are spread a little past both. */
const linesMax = 85;
const killsMax = 3;

export type Kill = { readonly dieAfter: number } | { readonly killAfterMs: number };
export type Loop = { readonly kills: readonly Kill[]; readonly rivals: boolean };

export const planLoop = (seed: number, loop: number, runMs: number): Loop => {
  const random = randomFrom(seed, `kill ${loop}`);
  const kills = Array.from({ length: 1 + random.whole(killsMax) }, (): Kill =>
    random.next() < 0.5
      ? { dieAfter: 1 + random.whole(linesMax) }
      : { killAfterMs: Math.round(random.next() * runMs * 1.2) },
  );
  return { kills, rivals: random.next() < 0.25 };
};

export const kills: Trial = {
  name: 'kills',
  about: `${loops} loops of kill -9 and resume at random moments`,
  untilPart: 0.4,
  needsStrace: false,
  run: async (setting) => {
    const { subject, seed } = setting;
    const runMs = await cleanRunMs(subject);
    const all = Array.from({ length: loops }, (_, loop) => loop);
    const chosen = setting.case === null ? all : [Number(setting.case)];
    const count = { kills: 0, resumes: 0, rivals: 0 };
    const done = await eachCase(chosen, setting, async (loop) => {
      const plan = planLoop(seed, loop, runMs);
      const { problems, folder } = await inFolder(async (cwd) => {
        const tried = await tryLoop(subject, join(cwd, 'workspace'), plan);
        count.kills += tried.killed;
        count.resumes += tried.resumes;
        count.rivals += plan.rivals ? 1 : 0;
        return tried.problems;
      });
      if (problems.length > 0)
        setting.found({
          what: `loop ${loop}: ${JSON.stringify(plan)}`,
          details: problems,
          again: setting.again(String(loop)),
          left: folder,
        });
    });
    const tried = [
      `${done} of ${chosen.length} loops, ${count.kills} processes killed, ${count.resumes} resumes, ${count.rivals} of them by two at once`,
    ];
    return { tried };
  },
};

const cleanRunMs = (subject: Subject): Promise<number> =>
  withFolder(async (cwd) => (await runWhole(subject, join(cwd, 'workspace'))).ms);

type Tried = { readonly problems: readonly string[]; readonly killed: number; readonly resumes: number };

const tryLoop = async (subject: Subject, workspace: string, { kills: planned, rivals }: Loop): Promise<Tried> => {
  const problems: string[] = [];
  let killed = 0;
  let by = 1;
  for (const kill of planned) {
    const ended = await runSubject(subject, { does: by === 1 ? 'run' : 'resume', workspace, by, ...kill });
    by += 1;
    if (ended.code === null && !ended.late) killed += 1;
    else problems.push(...unwell(ended));
  }
  const resumed = runSubject(subject, { does: 'resume', workspace, by });
  const rival = rivals ? runSubject(subject, { does: 'rival', workspace, by: by + 1 }) : undefined;
  const last = { resumed: await resumed, rival: await rival };
  problems.push(...unwell(last.resumed), ...(last.rival === undefined ? [] : unwell(last.rival)));
  if (problems.length === 0) problems.push(...judgeLast(readWitness(workspace), by, last));
  return { problems, killed, resumes: planned.length + (rivals ? 1 : 0) };
};

/** Of two who resume at once, one does all of it and the other nothing. */
const judgeLast = (
  lines: readonly Line[],
  by: number,
  { resumed, rival }: { readonly resumed: Ended; readonly rival: Ended | undefined },
): readonly string[] => {
  const rivalWon = rival?.said?.outcome != null;
  const [winner, loser] = rivalWon ? [by + 1, by] : [by, by + 1];
  const idle = lines.every((line) => line.by !== loser || line.saw === 'start' || line.saw === 'error');
  const told = lines.filter((line) => line.by !== loser);
  const refused = (rivalWon ? resumed : rival)?.said?.error?.code ?? 'run_owned';
  return [
    ...(idle ? [] : ['two processes went on with one run']),
    ...(refused === 'run_owned' || refused === 'run_ended' ? [] : [`the second to resume was told ${refused}`]),
    ...judge(told, (rivalWon ? rival : resumed).said!).map((problem) => `${problem} (process ${winner} was last)`),
  ];
};

/** A process that was not killed ends by itself, quietly. */
const unwell = ({ code, said, stderr, late }: Ended): readonly string[] => {
  if (late) return ['a process hung'];
  return code === 0 && said !== null && stderr === '' ? [] : [`a process ended with ${code}: ${stderr || 'no words'}`];
};
