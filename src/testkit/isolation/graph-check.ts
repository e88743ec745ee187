// Non-interference of a team that works through a graph of tasks: pairs of runs, and every prompt against what it should be.
import type { VerifyDifference } from '#contracts';
import type { TalkOptions, TalkReport } from './check-mail.ts';
import { cellOperations } from './describe-case.ts';
import { allTasks, withoutTask } from './graph-case.ts';
import type { GraphCase, GraphKind } from './graph-case.ts';
import { GraphPairs } from './graph-pairs.ts';
import type { GraphCompared } from './graph-pairs.ts';
import type { Subject } from './subject.ts';

export type GraphOptions = TalkOptions & { readonly recordsEvery?: number | undefined };

export const checkGraphs = async (subject: Subject, options: GraphOptions): Promise<TalkReport> => {
  const { seed, pairs: wanted, signal, progress, again, recordsEvery } = options;
  const pairs = new GraphPairs(subject, recordsEvery);
  const seen = { pairs: 0, sights: 0, bytes: 0 };
  const tally = new GraphTally();
  const differences: VerifyDifference[] = [];
  // Some pairs cannot be compared; then the next seed is tried.
  for (let at = seed; seen.pairs < wanted && at < seed + 4 * wanted + 64 && differences.length === 0; at++) {
    if (signal?.aborted === true) break;
    const compared = await pairs.compare(at);
    if (compared === null) continue;
    seen.pairs++;
    seen.sights += compared.sights;
    seen.bytes += compared.bytes;
    tally.add(compared);
    progress(seen.pairs);
    if (compared.difference !== null) differences.push(await told(pairs, compared, again(at, 1)));
  }
  const missed = seen.pairs >= wanted || differences.length > 0 ? [] : [missedNote(seen.pairs, wanted, pairs.obstacle)];
  return { ...seen, differences, notes: [...pairs.cast.notes, ...(seen.pairs === 0 ? [] : [tally.note()]), ...missed] };
};

const missedNote = (compared: number, wanted: number, obstacle: string): string =>
  `Only ${compared} of ${wanted} pairs were compared${obstacle === '' ? '' : `; of another, ${obstacle}`}.`;

const told = async (pairs: GraphPairs, found: GraphCompared, again: string): Promise<VerifyDifference> => {
  const isSteady = found.isPrompt || (await pairs.isSteady(found));
  const best = isSteady ? await shortest(pairs, found) : found;
  const { difference, of, runs } = best;
  const [one, other] = runs.map(({ frames }) => cellOperations(frames, new Set(frames.map(({ cell }) => cell))));
  const steps = one === other ? one : `${one} | ${other}`;
  return {
    ...difference!,
    varied: isSteady ? variedText(best) : 'nothing (played again, the same run shows something else)',
    shortest: `${caseText(of)}: ${steps}`,
    again,
  };
};

const variedText = ({ of: { kind }, variation: { task, member, isCoordinator }, isPrompt }: GraphCompared): string => {
  if (isPrompt) return 'the rest of the team';
  if (task !== null) return `task ${task} (its ${words[kind]})`;
  if (member !== null) return `${isCoordinator ? 'the coordinator' : `every "${member}"`} (${words[kind]})`;
  return words[kind];
};

const words: Readonly<Record<GraphKind, string>> = {
  result: 'result',
  life: 'way to its result',
  failure: 'failure',
  member: 'its instructions',
  description: 'its description',
  goal: 'the goal',
  schedule: 'the order of things',
};

const caseText = (of: GraphCase): string => {
  const tasks = allTasks(of).map(({ id, dependsOn, assignee, memoryScope }) =>
    [id, assignee, memoryScope === 'all' ? 'all' : '', dependsOn.length === 0 ? '' : `after ${dependsOn.join(' ')}`]
      .filter((word) => word !== undefined && word !== '')
      .join(' '),
  );
  return `${tasks.length} tasks (${tasks.join(', ')}), ${of.parallel} at once`;
};

/** Without every task and every event that it does not need. */
const shortest = async (pairs: GraphPairs, found: GraphCompared): Promise<GraphCompared> => {
  let best = found;
  const attempt = async (fewer: GraphCase): Promise<void> => {
    const compared = fewer.tasks.length === 0 ? null : await pairs.again(fewer, found.variation);
    if (compared !== null && compared.difference !== null && compared.isPrompt === found.isPrompt) best = compared;
  };
  for (const { id } of allTasks(found.of).toReversed())
    if (id !== found.variation.task) await attempt(withoutTask(best.of, id));
  for (const event of found.of.events)
    await attempt({
      ...best.of,
      events: best.of.events.filter((one) => one.atMs !== event.atMs || one.do !== event.do),
    });
  return best;
};

/** A comparison of runs in which nothing happens shows nothing. */
class GraphTally {
  #tasks = 0;
  #results = 0;
  #letters = 0;
  #prompts = 0;

  add({ runs }: GraphCompared): void {
    for (const { seats, frames } of runs) {
      this.#prompts += seats.filter(({ first }) => first !== null).length;
      for (const { contents = [] } of frames)
        for (const { kind, from } of contents) {
          if (kind === 'dependency') this.#results++;
          if (kind === 'message' && from !== 'outside') this.#letters++;
        }
    }
    this.#tasks += [...(runs[0].live.team?.queue.tasks() ?? [])].length;
  }

  note(): string {
    return `Graphs of ${this.#tasks} tasks: ${this.#prompts} cells, ${this.#results} results and ${this.#letters} messages handed to them.`;
  }
}
