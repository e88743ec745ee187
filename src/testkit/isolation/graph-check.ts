// Checks non-interference of a team with a task graph: compares pairs of runs, and every prompt with the expected one.
import { checkPairs, nothingVaried } from './check-pairs.ts';
import type { DifferenceFound, PairCheckOptions, PairCheckReport } from './check-pairs.ts';
import { cellOperations } from './describe-case.ts';
import { allTasks, withoutTask } from './graph-case.ts';
import type { GraphCase, GraphKind } from './graph-case.ts';
import { GraphPairs } from './graph-pairs.ts';
import type { GraphPairResult } from './graph-pairs.ts';
import type { Subject } from './subject.ts';

export type GraphOptions = PairCheckOptions & { readonly recordsEvery?: number | undefined };

export const checkGraphs = async (subject: Subject, options: GraphOptions): Promise<PairCheckReport> => {
  const pairs = new GraphPairs(subject, options.recordsEvery);
  const tally = new GraphTally();
  const report = await checkPairs(pairs, options, {
    explain: (found, seed) => explain(pairs, found, seed),
    noun: 'pairs',
    tally: (compared) => tally.add(compared),
  });
  return { ...report, notes: [...pairs.team.notes, ...(report.pairs === 0 ? [] : [tally.note()]), ...report.notes] };
};

const explain = async (pairs: GraphPairs, found: GraphPairResult, seed: number): Promise<DifferenceFound> => {
  const isSteady = found.isPrompt || (await pairs.isReproducible(found));
  const best = isSteady ? await reduceCase(pairs, found) : found;
  const { difference, graph, runs } = best;
  const [one, other] = runs.map(({ frames }) => cellOperations(frames, new Set(frames.map(({ cell }) => cell))));
  const steps = one === other ? one : `${one} | ${other}`;
  const varied = isSteady ? variedText(best) : nothingVaried;
  return { ...difference!, varied, shortest: `${caseText(graph)}: ${steps}`, seed, isProof: true };
};

const variedText = ({
  graph: { kind },
  variation: { task, member, isCoordinator },
  isPrompt,
}: GraphPairResult): string => {
  if (isPrompt) return 'the rest of the team';
  if (task !== null) return `task ${task} (its ${kindTexts[kind]})`;
  if (member !== null) return `${isCoordinator ? 'the coordinator' : `every "${member}"`} (${kindTexts[kind]})`;
  return kindTexts[kind];
};

const kindTexts: Readonly<Record<GraphKind, string>> = {
  result: 'result',
  path: 'path to its result',
  failure: 'failure',
  member: 'its instructions',
  description: 'its description',
  goal: 'the goal',
  schedule: 'the order of events',
};

const caseText = (graph: GraphCase): string => {
  const tasks = allTasks(graph).map(({ id, dependsOn, assignee, memoryScope }) =>
    [id, assignee, memoryScope === 'all' ? 'all' : '', dependsOn.length === 0 ? '' : `after ${dependsOn.join(' ')}`]
      .filter((word) => word !== undefined && word !== '')
      .join(' '),
  );
  return `${tasks.length} tasks (${tasks.join(', ')}), ${graph.parallel} at once`;
};

/** Removes all tasks and events that the difference does not need. */
const reduceCase = async (pairs: GraphPairs, found: GraphPairResult): Promise<GraphPairResult> => {
  let best = found;
  const attempt = async (fewer: GraphCase): Promise<void> => {
    const compared = fewer.tasks.length === 0 ? null : await pairs.compareCase(fewer, found.variation);
    if (compared !== null && compared.difference !== null && compared.isPrompt === found.isPrompt) best = compared;
  };
  for (const { id } of allTasks(found.graph).toReversed())
    if (id !== found.variation.task) await attempt(withoutTask(best.graph, id));
  for (const event of found.graph.events)
    await attempt({
      ...best.graph,
      events: best.graph.events.filter((one) => one.atMs !== event.atMs || one.do !== event.do),
    });
  return best;
};

/** Counts what happened, because a comparison of runs in which nothing happens shows nothing. */
class GraphTally {
  #tasks = 0;
  #results = 0;
  #messages = 0;
  #prompts = 0;

  add({ runs }: GraphPairResult): void {
    for (const { cells, frames } of runs) {
      this.#prompts += cells.filter(({ firstRequest }) => firstRequest !== null).length;
      for (const { contents = [] } of frames)
        for (const { kind, from } of contents) {
          if (kind === 'dependency') this.#results++;
          if (kind === 'message' && from !== 'outside') this.#messages++;
        }
    }
    this.#tasks += [...(runs[0].live.team?.queue.tasks() ?? [])].length;
  }

  note(): string {
    return `Task graphs with ${this.#tasks} tasks: ${this.#prompts} cells, which got ${this.#results} results and ${this.#messages} messages.`;
  }
}
