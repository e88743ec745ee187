// `demo`: the same team in a plain loop and in Cloister, what each agent was shown, and what left.
import type { Cloister, QuestionReport, RunOutcome, RunSession } from '#contracts';
import { cloisterSteps, mergeSteps, plainSteps } from './shared/demo-steps.ts';
import { introLines, isolationLines, reportLines } from './demo-lines.ts';
import type { DemoReport, DemoVerdict } from './demo-lines.ts';
import type { DemoTeam } from './shared/cli-world.ts';
import { defineCommand } from './shared/define-command.ts';
import type { CommandContext } from './shared/define-command.ts';
import { cliFailureJson, errorLines, exitCode, exitOfOutcome } from './shared/errors.ts';
import type { ExitCode } from './shared/errors.ts';
import { stoppingNotice } from './shared/follow-run.ts';
import { workspaceOption } from './shared/options.ts';
import { sanitizeAll } from './shared/sanitize-text.ts';

const task = 'Make an offer to Bluebird for 200 bicycles.';
const denial = 'Denied by the demo, because nobody is asked in it.';
/** A few seconds' worth. */
const pairs = 200;

export default defineCommand({
  about: 'run one team in a plain loop and in Cloister, and show who saw a secret; offline, without a key',
  examples: ['cloister demo', 'cloister demo --json'],
  options: workspaceOption,
  run: async (given, context) => {
    const { runtime, output, interrupts } = context;
    const stop = new AbortController();
    interrupts.onFirst(() => {
      output.err.print(stoppingNotice);
      stop.abort();
    });
    const team = await runtime.openDemo();
    if (!given.json) output.out.print(...introLines(sanitizeAll(team), task, output.out));
    const plain = await team.runPlain(task);
    const plainSent = [...team.sent];
    if (interrupts.seen) return exitCode.cancelled;

    await using cloister = await runtime.open({ workspace: given.workspace, agents: [], demo: true });
    const { outcome, asked } = await runAndDeny(cloister, stop.signal, interrupts.seen);
    const report: DemoReport = {
      task,
      team,
      plain: { answer: plain.answer, steps: plainSteps(plain, team), sent: plainSent },
      cloister: {
        outcome,
        asked,
        sent: team.sent.slice(plainSent.length),
        ...(await recorded(cloister, outcome, team)),
      },
    };
    if (!given.json) output.out.print('', ...reportLines(sanitizeAll(report), output.out));
    if (interrupts.seen || outcome.status !== 'completed') return reportStopped({ given, report }, context);

    const verdict = await runtime.verify({
      agent: team.agent,
      agents: [],
      pairs,
      signal: stop.signal,
      progress: () => undefined,
    });
    if (given.json) output.json(jsonOf(report, { verify: verdict, workspace: cloister.workspace }));
    else output.out.print(...isolationLines(sanitizeAll({ report, verdict, ...given }), output.out));
    if (interrupts.seen) return exitCode.cancelled;
    return verdict.ok && report.cloister.audit.ok ? exitCode.completed : exitCode.config;
  },
});

/** Runs the team. Whatever waits for a person is denied: the demo has nobody to ask. */
const runAndDeny = async (
  cloister: Cloister,
  signal: AbortSignal,
  isStopped: boolean,
): Promise<{ readonly outcome: RunOutcome; readonly asked: readonly QuestionReport[] }> => {
  const session: RunSession = cloister.run('desk', task);
  const cancel = (): void => session.cancel();
  signal.addEventListener('abort', cancel);
  if (isStopped) cancel();
  const deny = async (): Promise<void> => {
    for (const { id, sha256, state } of await cloister.questions({ run: session.run }))
      if (state === 'open') await cloister.answer(id, { allow: false, sha256, reason: denial });
  };
  // Read when everything waits, so that the order of the agents does not matter.
  const answered: Promise<void>[] = [];
  session.onWaiting(() => void answered.push(deny()));
  const [outcome] = await Promise.all([session.outcome, readEvents(session)]);
  await Promise.allSettled(answered);
  signal.removeEventListener('abort', cancel);
  return { outcome, asked: await cloister.questions({ run: outcome.run, all: true }) };
};

/** They say nothing that the log does not: the demo reads that. */
const readEvents = async (session: RunSession): Promise<void> => {
  for await (const _ of session);
};

/** What the log says about the run. */
const recorded = async (cloister: Cloister, { run }: RunOutcome, team: DemoTeam) => {
  const transcript = await cloister.transcript(run, { full: true });
  const { events } = await cloister.show(run);
  const refusals = events.filter((event) => event.type === 'crossing-refused');
  const crossings = events.filter((event) => event.type === 'crossing');
  const { steps, prompt } = cloisterSteps(transcript, refusals, team);
  return { steps, prompt, refusals, crossings, audit: await cloister.audit(run) };
};

const jsonOf = (report: DemoReport, more: DemoVerdict): object => {
  const { team, plain, cloister } = report;
  const { outcome, ...rest } = cloister;
  return {
    task: report.task,
    secret: team.secret,
    steps: mergeSteps(plain.steps, cloister.steps),
    plain,
    cloister: { run: outcome.run, status: outcome.status, output: outcome.output, spent: outcome.spent, ...rest },
    ...more,
  };
};

/** The run was cancelled, or could not be completed: nothing is compared then. */
const reportStopped = (
  { given, report }: { readonly given: { readonly json: boolean }; readonly report: DemoReport },
  { output, interrupts }: CommandContext,
): ExitCode => {
  const { failure } = report.cloister.outcome;
  if (given.json) output.json(jsonOf(report, { verify: null, workspace: null }));
  else if (failure !== null) output.err.print(...errorLines(cliFailureJson(failure)));
  return interrupts.seen ? exitCode.cancelled : exitOfOutcome(report.cloister.outcome);
};
