// `fork`: a new run that keeps another's log up to an operation.
import { InvalidArgumentError } from 'commander';
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { GrantName, RunReport, TaskReport } from '#contracts';
import { defineCommand } from './shared/define-command.ts';
import type { OptionSpec } from './shared/define-command.ts';
import { UsageError } from './shared/errors.ts';
import { followRun } from './shared/follow-run.ts';
import { openForRun, openToRead, resolveCell, resolveSummary } from './shared/find-and-open.ts';
import { listOperations, operationRef } from './shared/operations.ts';
import {
  agentsOptions,
  budgetOf,
  forkBudgetOptions,
  runOutputOptions,
  runArgument,
  textOption,
  workspaceOption,
} from './shared/options.ts';
import { excerpt } from './shared/sanitize-text.ts';

const grants = { goal: true, result: true, note: true, history: true, share: true } satisfies Record<GrantName, true>;
const grantNames = Object.keys(grants) as readonly GrantName[];

const grantsOption: OptionSpec<readonly GrantName[]> = {
  about: 'remove this grant from that agent; repeatable',
  takes: '<name>',
  absent: [],
  parse: (name, before = []) => {
    const grant = grantNames.find((one) => one === name);
    if (grant === undefined) throw new InvalidArgumentError(`It must be one of: ${grantNames.join(', ')}.`);
    return [...before, grant];
  },
};

export default defineCommand({
  about: 'start a new run from a point in another run, with changes',
  examples: [
    'cloister show last --verbose     # lists the operations',
    'cloister fork last --at lead/4 --model openai/gpt-5-mini',
    'cloister fork last --at researcher --goal "Look only at DuckDB"',
    'cloister fork last --at lead --budget-usd 0.10   # the whole run again',
  ],
  arguments: runArgument,
  options: {
    at: {
      about: 'first operation to redo: <cell>/<operation>, or <cell> for the whole cell',
      takes: '<point>',
      absent: '',
      required: true,
    },
    model: textOption('<provider/model>', 'use this model for the agent at that point'),
    withoutGrant: grantsOption,
    goal: textOption('<text>', 'new goal; only if --at is the start of a cell'),
    ...forkBudgetOptions,
    ...agentsOptions,
    ...workspaceOption,
    ...runOutputOptions,
  },
  run: async (given, context) => {
    const { runtime } = context;
    const { model, withoutGrant: withoutGrants, goal } = given;
    const { run, at } = await findPlace(given, runtime);
    const budget = budgetOf(given);
    const changes = {
      ...(model === null ? {} : { model }),
      ...(withoutGrants.length === 0 ? {} : { withoutGrants }),
      ...(goal === null ? {} : { goal }),
      ...(Object.keys(budget).length === 0 ? {} : { budget }),
    };
    return followRun(
      {
        request: given,
        open: () => openForRun(run, given, runtime),
        begin: (cloister) => cloister.fork(run, { at, ...changes }),
        extraJson: () => ({ forkOf: { run, at } }),
        nextCommands: (fork) => [`diff ${run} ${fork}`],
      },
      context,
    );
  },
});

type NamedPlace = { readonly workspace: string; readonly run: string; readonly at: string };

/** Resolves the run and the place in it before any agent is loaded. */
const findPlace = async ({ workspace, run: name, at }: NamedPlace, runtime: Parameters<typeof openToRead>[1]) => {
  await using cloister = await openToRead(workspace, runtime);
  const { run } = await resolveSummary(cloister, name);
  return { run, at: resolvePlace(await cloister.show(run), at, await cloister.tasks(run)) };
};

/** In the form that the runtime takes: `<cell>/<operation>` or `<cell>`, with the full cell id. A task id stands for its cell. */
const resolvePlace = (report: RunReport, at: string, tasks: readonly TaskReport[]): string => {
  const [, name = '', op] = /^([^/]*)(?:\/(\d{1,9}))?$/u.exec(at) ?? [];
  if (name === '')
    throw new UsageError(`--at "${at}" is not a valid place`, 'use <cell>/<operation>, or <cell> for its start');
  const cell = resolveCell(report, name, tasks);
  if (op === undefined) return cell;
  checkOperation(report, cell, Number(op));
  return operationRef({ cell, op: Number(op) });
};

const shownMax = 30;

/** Not every operation has events, so the runtime checks numbers below the highest known one. */
const checkOperation = (report: RunReport, cell: CellId, op: number): void => {
  const operations = listOperations(report.events.filter((event) => event.cell === cell));
  if (operations.some((one) => one.op >= op)) return;
  const left = operations.length - shownMax;
  const lines = [
    ...(left > 0 ? [`… ${left} earlier ones`] : []),
    ...operations.slice(-shownMax).map((one) => `${operationRef(one)} ${excerpt(one.what, 50)}`),
  ];
  const has = lines.length === 0 ? 'it has none.' : ['it has:', ...lines].join('\n');
  throw new CloisterError('fork_invalid', `${cell} has no operation ${op}; ${has}`);
};
