// Pairs of runs of a team that talks. What others hear is the same in both: who is begun, written to, answered, ended, when
// time passes, when the process dies. What one session keeps to itself differs, or all sessions of one agent do.
import { Rng } from './rng.ts';
import { firstDifference, createObservation } from './observer.ts';
import type { Difference, Observation, Observations } from './observer.ts';
import { rootGoal } from './plan.ts';
import { crossedOutcome } from './records.ts';
import { cachedValidate } from './isolation-setup.ts';
import type { Subject } from './subject.ts';
import type { Act } from './mail-act.ts';
import { castFor } from './mail-agents.ts';
import { drawActs, lastActs } from './mail-schedule.ts';
import { TalkRun } from './mail-run.ts';
import { isVariedSeat } from './mail-cell-state.ts';
import type { TalkVariation } from './mail-cell-state.ts';
import { Team } from './team.ts';
import { TestEnvironment } from './test-environment.ts';

export type TalkCompared = {
  readonly seed: number;
  readonly sights: number;
  readonly bytes: number;
  readonly difference: Difference | null;
  readonly variation: TalkVariation;
  readonly acts: readonly Act[];
  readonly runs: readonly [TalkRun, TalkRun];
};

export class TalkPairs {
  readonly team: Team;
  /** Why the newest pair that could not be compared could not be. */
  obstacle = '';
  readonly #subject: Subject;
  readonly #environment: TestEnvironment | null;
  readonly #validate = cachedValidate();
  #onStage: TalkRun | null = null;

  constructor(subject: Subject) {
    this.#subject = subject;
    this.team = new Team(subject, { tool: (...called) => this.#onStage!.tool(...called) });
    const { environment } = subject;
    this.#environment = environment === undefined ? null : new TestEnvironment(environment, this.team.parts);
  }

  /** Null when the two cannot be compared. */
  async compare(seed: number): Promise<TalkCompared | null> {
    const one = this.#open(seed, null);
    const acts = await this.#draw(one, seed);
    const variation = variationOf(one, seed);
    return this.#compareRuns(one, await this.#played(seed, variation, acts), { seed, acts, variation });
  }

  /** The same with fewer acts, by itself. */
  async again({ seed, variation }: TalkCompared, acts: readonly Act[]): Promise<TalkCompared | null> {
    const one = await this.#alone(seed, null, acts);
    return this.#compareRuns(one, await this.#alone(seed, variation, acts), { seed, acts, variation });
  }

  /** Whether the first run shows the same when it is played again. */
  async isSteady({ seed, acts }: TalkCompared): Promise<boolean> {
    const one = await this.#alone(seed, null, acts);
    const other = await this.#played(seed, null, acts);
    return firstDifference(sightsOf(one, null), sightsOf(other, null)) === null;
  }

  /** What tools may have kept of a run before is what they kept of this one. */
  async #alone(seed: number, variation: TalkVariation | null, acts: readonly Act[]): Promise<TalkRun> {
    if (this.#subject.realTools === true) await this.#played(seed, variation, acts);
    return this.#played(seed, variation, acts);
  }

  #compareRuns(
    one: TalkRun,
    other: TalkRun,
    { seed, acts, variation }: Pick<TalkCompared, 'seed' | 'acts' | 'variation'>,
  ): TalkCompared | null {
    const obstacle = obstacleIn([one, other], variation);
    if (obstacle !== null) {
      this.obstacle = obstacle;
      return null;
    }
    const [first, second] = [sightsOf(one, variation), sightsOf(other, variation)];
    const all = [...first.values()].flat();
    const bytes = all.reduce((sum, { length }) => sum + length, 0);
    const difference = firstDifference(first, second);
    return { seed, sights: all.length, bytes, difference, variation, acts, runs: [one, other] };
  }

  async #played(seed: number, variation: TalkVariation | null, acts: readonly Act[]): Promise<TalkRun> {
    const run = this.#open(seed, variation);
    await run.start();
    for (const act of acts) await run.play(act);
    await run.close();
    return run;
  }

  #open(seed: number, variation: TalkVariation | null): TalkRun {
    this.team.forget();
    const words = `talk ${seed}`;
    const chance = new Rng(words);
    const root = castFor(this.team, variation);
    const { messages, topics } = root.agent;
    const other = this.#otherValues(variation);
    const environment = this.#environment;
    const run = new TalkRun(this.team, {
      seed: words,
      root,
      goal: rootGoal(this.#subject, root, { seed: words, validate: this.#validate }),
      resident: messages !== null && chance.percent(50) ? topics.hear.filter(() => chance.percent(70)) : null,
      variation,
      validate: this.#validate,
      isReal: this.#subject.realTools === true,
      heard: chance.percent(25),
      told: (part) => environment?.told(part, other) ?? null,
      redact: environment?.redact(other) ?? null,
    });
    this.#onStage = run;
    return run;
  }

  /** Only what all sessions of the agent are told, and no other agent is. */
  #otherValues(variation: TalkVariation | null) {
    if (variation === null || variation.place !== null) return null;
    const parts = this.team.parts.filter(({ own }) => own.name === variation.agent);
    return parts.length === 1 ? { part: parts[0]!, salt: variation.salt } : null;
  }

  async #draw(run: TalkRun, seed: number): Promise<readonly Act[]> {
    const chance = new Rng(`acts ${seed}`);
    const family = this.team.parts.map(({ agent }) => agent);
    const acts: Act[] = [];
    const play = async (act: Act): Promise<void> => {
      acts.push(act);
      await run.play(act);
    };
    await run.start();
    for (let left = actsMin + chance.below(actsMore); left > 0 && !run.isOver; left--)
      for (const act of drawActs(run, family, chance)) await play(act);
    for (const act of lastActs(run, chance)) await play(act);
    await run.close();
    return acts;
  }
}

const [actsMin, actsMore] = [10, 40];

/** Any session that has said something, or all of its agent. */
const variationOf = ({ seats }: TalkRun, seed: number): TalkVariation => {
  const chance = new Rng(`pair ${seed}`);
  const spoken = seats.filter(({ said }) => said > 0);
  const { place, birth } = chance.pick(spoken.length === 0 ? seats : spoken);
  return { salt: `salt ${seed}`, agent: birth.agent, place: chance.percent(50) ? null : place };
};

/** In words, when two runs cannot be compared: why. */
const obstacleIn = (runs: readonly TalkRun[], variation: TalkVariation): string | null => {
  for (const { broken } of runs) if (broken !== null) return `the run broke: ${broken}`;
  const [one, other] = runs.map((run) => JSON.stringify(endsOf(run, variation)));
  return one === other ? null : `"${variation.place ?? variation.agent}" ended in two ways`;
};

/** How those that keep something ended: that is for others to know. */
const endsOf = (run: TalkRun, variation: TalkVariation): readonly string[] =>
  run.frames.flatMap(({ record }) => {
    if (record.type !== 'settle' || record.ended === undefined) return [];
    const { cell, outcome } = record.ended;
    const seat = run.seatOf(cell);
    if (seat === undefined || !isVariedSeat(variation, seat)) return [];
    return [`${seat.place} ${outcome.status} ${outcome.failure?.code}`];
  });

/** Of all sessions but those that keep something, and of whoever runs them. */
const sightsOf = (run: TalkRun, variation: TalkVariation | null): Observations => {
  const all = new Map<string, readonly Observation[]>();
  for (const seat of run.seats) if (!isVariedSeat(variation, seat)) all.set(seat.place, seat.eye.sights);
  const outside = run.frames.flatMap(({ contents = [] }) =>
    contents.flatMap(({ to, kind, content }) => (to === 'outside' ? [createObservation(kind, content)] : [])),
  );
  const outcome = run.outcome === null ? null : crossedOutcome(run.outcome, 'itself');
  return all.set('the caller', [...outside, createObservation('outcome', JSON.stringify(outcome))]);
};
