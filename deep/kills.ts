// kill -9 at random moments: of the run, of the resume, and of the resume of the resume. Sometimes two processes resume at once.
// Then an undisturbed process finishes the run, and the result is judged.
import { join } from 'node:path';
import type { Subject } from './build-subject.ts';
import { judge } from './judge.ts';
import { randomFrom } from './random.ts';
import { readWitness, runSubject, runUndisturbed } from './run-subject.ts';
import type { SubjectExit } from './run-subject.ts';
import type { WitnessLine } from './subject/witness.ts';
import { forEachCase, inCaseFolder, withTempFolder } from './trial.ts';
import type { Trial } from './trial.ts';

const loops = 200;
/** A run writes about 80 witness lines and takes about 150 ms; kills are spread slightly past both. */
const linesMax = 85;
const killsMax = 3;

export type KillPlan = { readonly dieAfter: number } | { readonly killAfterMs: number };
export type LoopPlan = { readonly kills: readonly KillPlan[]; readonly rivals: boolean };

export const planLoop = (seed: number, loop: number, runMs: number): LoopPlan => {
  const random = randomFrom(seed, `kill ${loop}`);
  const kills = Array.from({ length: 1 + random.whole(killsMax) }, (): KillPlan =>
    random.next() < 0.5
      ? { dieAfter: 1 + random.whole(linesMax) }
      : { killAfterMs: Math.round(random.next() * runMs * 1.2) },
  );
  return { kills, rivals: random.next() < 0.25 };
};

export const kills: Trial = {
  name: 'kills',
  about: `${loops} loops of kill -9 and resume at random moments`,
  deadlineFraction: 0.4,
  needsStrace: false,
  run: async (context) => {
    const { subject, seed } = context;
    const runMs = await cleanRunMs(subject);
    const all = Array.from({ length: loops }, (_, loop) => loop);
    const chosen = context.case === null ? all : [Number(context.case)];
    const count = { kills: 0, resumes: 0, rivals: 0 };
    const done = await forEachCase(chosen, context, async (loop) => {
      const plan = planLoop(seed, loop, runMs);
      const { problems, folder } = await inCaseFolder(async (cwd) => {
        const tried = await runLoop(subject, join(cwd, 'workspace'), plan);
        count.kills += tried.killed;
        count.resumes += tried.resumes;
        count.rivals += plan.rivals ? 1 : 0;
        return tried.problems;
      });
      if (problems.length > 0)
        context.report({
          what: `loop ${loop}: ${JSON.stringify(plan)}`,
          details: problems,
          rerun: context.rerunCommand(String(loop)),
          folder,
        });
    });
    const summary = [
      `${done} of ${chosen.length} loops, ${count.kills} processes killed, ${count.resumes} resumes, ${count.rivals} of them by two processes at once`,
    ];
    return { lines: summary };
  },
};

const cleanRunMs = (subject: Subject): Promise<number> =>
  withTempFolder(async (cwd) => (await runUndisturbed(subject, join(cwd, 'workspace'))).ms);

type LoopResult = { readonly problems: readonly string[]; readonly killed: number; readonly resumes: number };

const runLoop = async (
  subject: Subject,
  workspace: string,
  { kills: planned, rivals }: LoopPlan,
): Promise<LoopResult> => {
  const problems: string[] = [];
  let killed = 0;
  let by = 1;
  for (const kill of planned) {
    const ended = await runSubject(subject, {
      command: by === 1 ? 'run' : 'resume',
      workspace,
      processNo: by,
      ...kill,
    });
    by += 1;
    if (ended.code === null && !ended.timedOut) killed += 1;
    else problems.push(...exitProblems(ended));
  }
  const resumed = runSubject(subject, { command: 'resume', workspace, processNo: by });
  const rival = rivals ? runSubject(subject, { command: 'rival', workspace, processNo: by + 1 }) : undefined;
  const last = { resumed: await resumed, rival: await rival };
  problems.push(...exitProblems(last.resumed), ...(last.rival === undefined ? [] : exitProblems(last.rival)));
  if (problems.length === 0) problems.push(...judgeLast(readWitness(workspace), by, last));
  return { problems, killed, resumes: planned.length + (rivals ? 1 : 0) };
};

/** When two processes resume at once, one must do everything and the other nothing. */
const judgeLast = (
  lines: readonly WitnessLine[],
  by: number,
  { resumed, rival }: { readonly resumed: SubjectExit; readonly rival: SubjectExit | undefined },
): readonly string[] => {
  const rivalWon = rival?.report?.outcome != null;
  const [winner, loser] = rivalWon ? [by + 1, by] : [by, by + 1];
  const idle = lines.every((line) => line.by !== loser || line.saw === 'start' || line.saw === 'error');
  const winnerLines = lines.filter((line) => line.by !== loser);
  const refused = (rivalWon ? resumed : rival)?.report?.error?.code ?? 'run_owned';
  return [
    ...(idle ? [] : ['two processes continued the same run']),
    ...(refused === 'run_owned' || refused === 'run_ended' ? [] : [`the second process to resume got ${refused}`]),
    ...judge(winnerLines, (rivalWon ? rival : resumed).report!).map(
      (problem) => `${problem} (process ${winner} was last)`,
    ),
  ];
};

/** A process that was not killed must end by itself and print nothing to stderr. */
const exitProblems = ({ code, report, stderr, timedOut }: SubjectExit): readonly string[] => {
  if (timedOut) return ['a process hung'];
  return code === 0 && report !== null && stderr === ''
    ? []
    : [`a process exited with code ${code}: ${stderr || 'no output'}`];
};
