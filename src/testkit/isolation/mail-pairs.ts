// Pairs of runs of agents that spawn agents and exchange messages. Both runs perform the same observable acts: spawns,
// messages, answers, ends, passing time, crashes. The private content of one session differs, or of all sessions of one agent.
import type { Agent, Outcome } from '#contracts';
import { isMailTool } from '#core/session';
import { AgentTree } from './agent-tree.ts';
import type { TestAgent } from './agent-tree.ts';
import { prepareMailAgents } from './change-agent.ts';
import { cellOperations, countCrossings, nothingVaried, Pairs } from './check-pairs.ts';
import type { DifferenceFound } from './check-pairs.ts';
import { closingActs, drawActs } from './mail-acts.ts';
import { actText, aideWorkflow, isVariedSession } from './mail-cell.ts';
import type { Act, MailCell, MailVariation } from './mail-cell.ts';
import { MailRun } from './mail-run.ts';
import { bytesOf, compareObservations, createObservation, firstDifference } from './observer.ts';
import type { Observation, ObservationComparison, Observations } from './observer.ts';
import { chooseRootGoal } from './plan.ts';
import { visibleOutcome } from './records.ts';
import { Rng } from './rng.ts';
import type { Subject } from './subject.ts';

type MailPair = ObservationComparison & {
  readonly seed: number;
  readonly variation: MailVariation;
  readonly acts: readonly Act[];
  readonly runs: readonly [MailRun, MailRun];
};

/** Whether an agent, or any below it, spawns agents or has mail tools. */
export const spawnsOrMails = (agent: Agent): boolean => {
  const all = new Set([agent]);
  for (const one of all) {
    if (one.children.spawns !== null || one.resources.builtins.some(isMailTool)) return true;
    for (const child of one.children.agents) all.add(child);
  }
  return false;
};

export class MailPairs extends Pairs<MailRun, MailPair> {
  readonly #tree: AgentTree;
  readonly #sessions = new Map<string, number>();
  #messages = 0;
  #broadcasts = 0;

  constructor(subject: Subject) {
    super(subject);
    this.#tree = new AgentTree(subject, this.handler);
  }

  protected override get testAgents(): readonly TestAgent[] {
    return this.#tree.all;
  }

  override async compare(seed: number): Promise<MailPair | null> {
    const one = this.#open(seed, null);
    const acts = await this.#drawActs(one, seed);
    const variation = drawVariation(one, seed);
    return this.#compareRuns(one, await this.#run(seed, variation, acts), { seed, acts, variation });
  }

  /** Repeats a pair on its own, with other acts. */
  async #compareActs({ seed, variation }: MailPair, acts: readonly Act[]): Promise<MailPair | null> {
    const one = await this.#runAlone(seed, null, acts);
    return this.#compareRuns(one, await this.#runAlone(seed, variation, acts), { seed, acts, variation });
  }

  /** Whether the first run gives the same result when it is repeated. */
  async #isReproducible({ seed, acts }: MailPair): Promise<boolean> {
    const one = await this.#runAlone(seed, null, acts);
    const other = await this.#run(seed, null, acts);
    return firstDifference(collectObservations(one, null), collectObservations(other, null)) === null;
  }

  #runAlone(seed: number, variation: MailVariation | null, acts: readonly Act[]): Promise<MailRun> {
    return this.runAlone(() => this.#run(seed, variation, acts));
  }

  #compareRuns(
    one: MailRun,
    other: MailRun,
    { seed, acts, variation }: Pick<MailPair, 'seed' | 'acts' | 'variation'>,
  ): MailPair | null {
    const obstacle = findObstacle([one, other], variation);
    if (obstacle !== null) {
      this.obstacle = obstacle;
      return null;
    }
    const compared = compareObservations(collectObservations(one, variation), collectObservations(other, variation));
    return { ...compared, seed, variation, acts, runs: [one, other] };
  }

  async #run(seed: number, variation: MailVariation | null, acts: readonly Act[]): Promise<MailRun> {
    const run = this.#open(seed, variation);
    await run.start();
    for (const act of acts) await run.perform(act);
    await run.close();
    return run;
  }

  #open(seed: number, variation: MailVariation | null): MailRun {
    this.#tree.forgetChanges();
    const words = `talk ${seed}`;
    const rng = new Rng(words);
    const root = prepareMailAgents(this.#tree, variation);
    const {
      permissions: { messages, topics },
    } = root.agent;
    this.current = new MailRun(this.#tree, {
      ...this.world(this.#otherValues(variation)),
      seed: words,
      root,
      goal: chooseRootGoal(this.subject, root, { seed: words, validate: this.validate }),
      resident: messages !== null && rng.percent(50) ? topics.hear.filter(() => rng.percent(70)) : null,
      variation,
      ids: `${words} ids`,
      startMs: 1_800_000_000_000,
      hasListeners: rng.percent(25),
    });
    return this.current;
  }

  /** Only for an agent with a unique name: values that all its sessions get, and no other agent. */
  #otherValues(variation: MailVariation | null) {
    if (variation === null || variation.place !== null) return null;
    const candidates = this.#tree.all.filter(({ own }) => own.name === variation.agent);
    return candidates.length === 1 ? { testAgent: candidates[0]!, salt: variation.salt } : null;
  }

  async #drawActs(run: MailRun, seed: number): Promise<readonly Act[]> {
    const rng = new Rng(`acts ${seed}`);
    const agents = this.#tree.all.map(({ agent }) => agent);
    const acts: Act[] = [];
    const play = async (act: Act): Promise<void> => {
      acts.push(act);
      await run.perform(act);
    };
    await run.start();
    for (let left = actsMin + rng.below(actsMore); left > 0 && !run.isOver; left--)
      for (const act of drawActs(run, agents, rng)) await play(act);
    for (const act of closingActs(run, rng)) await play(act);
    await run.close();
    return acts;
  }

  override async explain(found: MailPair): Promise<DifferenceFound> {
    const proof = await this.#reproduce(found, found.acts);
    const { difference, acts, variation, runs } = proof === null ? found : await this.#reduceActs(proof);
    const name = variation.place ?? `every "${variation.agent}"`;
    const [one, other] = runs.map(({ cells, frames }) =>
      cellOperations(
        frames,
        cells.filter((state) => isVariedSession(variation, state)),
      ),
    );
    return {
      ...difference!,
      varied: proof === null ? nothingVaried : name,
      shortest: `${acts.length} acts (${acts.map(actText).join('; ')}); ${name}: ${one} | ${other}`,
      seed: proof === null ? null : found.seed,
      isProof: proof !== null,
    };
  }

  /** Repeats the pair on its own, with these acts. Returns null unless it still differs, and only when something is varied. */
  async #reproduce(pair: MailPair, acts: readonly Act[]): Promise<MailPair | null> {
    const alone = await this.#compareActs(pair, acts);
    if (alone === null || alone.difference === null) return null;
    return (await this.#isReproducible(alone)) ? alone : null;
  }

  /** Removes all acts that the difference does not need: many at a time where possible, then one by one. */
  async #reduceActs(proof: MailPair): Promise<MailPair> {
    let best = proof;
    for (let size = proof.acts.length; size > 0; size = Math.floor(size / 2))
      for (let end = best.acts.length; end > 0; end -= size) {
        const fewer = [...best.acts.slice(0, Math.max(0, end - size)), ...best.acts.slice(end)];
        best = (await this.#reproduce(best, fewer)) ?? best;
      }
    return best;
  }

  override tally({ runs: [{ cells, frames }] }: MailPair): void {
    for (const { birth } of cells) this.#sessions.set(birth.agent, (this.#sessions.get(birth.agent) ?? 0) + 1);
    this.#messages += countCrossings(frames, 'message');
    this.#broadcasts += countCrossings(frames, 'broadcast');
  }

  note(pairs: number): string {
    const known = this.#tree.all.map(({ own }) => own.name);
    const sessions = known.map((name) => `${this.#sessions.get(name) ?? 0} of ${name}`);
    const described = [...this.#sessions].filter(([name]) => !known.includes(name));
    const count = described.reduce((sum, [, of]) => sum + of, 0);
    if (count > 0) sessions.push(`${count} defined inline`);
    return `${pairs} of the pairs spawn agents and exchange messages: sessions ${sessions.join(', ')}; they got ${this.#messages} messages and ${this.#broadcasts} broadcasts.`;
  }
}

const [actsMin, actsMore] = [10, 40];

/** Picks a session that has replied, or all sessions of its agent. */
const drawVariation = ({ cells }: MailRun, seed: number): MailVariation => {
  const rng = new Rng(`pair ${seed}`);
  const sessions = cells.filter(({ isAide }) => !isAide);
  const spoken = sessions.filter(({ replies }) => replies > 0);
  const { place, birth } = rng.pick(spoken.length === 0 ? sessions : spoken);
  return { salt: `salt ${seed}`, agent: birth.agent, place: rng.percent(50) ? null : place };
};

/** Why two runs cannot be compared; null if they can. */
const findObstacle = (runs: readonly MailRun[], variation: MailVariation): string | null => {
  for (const { broken } of runs) if (broken !== null) return `the run broke: ${broken}`;
  const [one, other] = runs.map((run) => {
    const isRoot = run.cells[0] !== undefined && isVariedSession(variation, run.cells[0]);
    return JSON.stringify([variedEndings(run, variation), isRoot ? run.outcome?.status : null]);
  });
  return one === other ? null : `"${variation.place ?? variation.agent}" ended differently in the two runs`;
};

/** How the varied sessions ended, which others can observe. */
const variedEndings = (run: MailRun, variation: MailVariation): readonly string[] =>
  run.frames.slice(0, run.framesAtClose).flatMap(({ record }) => {
    if (record.type !== 'settle' || record.ended === undefined) return [];
    const { cell, outcome } = record.ended;
    const state = run.cellState(cell);
    if (state === undefined || state.isAide || !isVariedSession(variation, state)) return [];
    return [`${state.place} ${outcome.status} ${outcome.failure?.code}`, ...aidesTold(state, outcome)];
  });

/** Aides that a stopped session left, if its parent was told of them with its result. */
const aidesTold = ({ parent }: MailCell, { missing }: Outcome): readonly string[] =>
  missing.filter(
    (name) =>
      name.startsWith(aideWorkflow) &&
      parent?.observer.observations.some((one) => bytesOf(one).includes(name)) === true,
  );

/** The observations of all other sessions, and of the caller. */
const collectObservations = (run: MailRun, variation: MailVariation | null): Observations => {
  const all = new Map<string, readonly Observation[]>();
  for (const state of run.cells)
    if (!isVariedSession(variation, state)) all.set(state.place, state.observer.observations);
  const outside = run.frames.flatMap(({ contents = [] }) =>
    contents.flatMap(({ to, kind, content }) =>
      to === 'outside'
        ? [createObservation(kind, kind === 'result' ? visibleResult(content) : content.replace(chainField, ''))]
        : [],
    ),
  );
  const outcome = run.outcome === null ? 'null' : visibleResult(JSON.stringify(visibleOutcome(run.outcome, 'varied')));
  return all.set('the caller', [...outside, createObservation('outcome', outcome)]);
};

/** A random id, of the first of the messages that led to this one; nobody is shown it. */
const chainField = /"chain":"[^"]*"/u;

/** A result without the aides of the session, and without the random ids of agents. */
const visibleResult = (content: string): string => {
  const { missing = [], spawned = [], ...rest } = JSON.parse(content) as Partial<Outcome>;
  const isPublic = (name: string): boolean => !name.startsWith(aideWorkflow);
  return JSON.stringify({
    ...rest,
    missing: missing.filter(isPublic),
    spawned: spawned.filter(({ agent }) => isPublic(agent)).map(({ cell: _cell, ...one }) => one),
  });
};
