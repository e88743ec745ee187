// Pairs of runs of a resident that several agents ask at once. Bob may write to the desk and to nobody else. In the two runs he
// does the same, and the desk does the same for him; everything that others do differs: how much they write to the desk and to
// each other, what they are told, when the process crashes. What Bob is shown, and how he ends, must be the same, byte for byte.
import type { Agent } from '#contracts';
import { agent, cheap } from '../core/session/driver.ts';
import { Stage } from '../core/mail/stage.ts';
import { Rng } from '../../src/testkit/isolation/rng.ts';

const talk = ['send_message', 'receive_message', 'publish'];
const patience = { maxToolTurns: 10_000, max_steps: 100_000, answersPerMinute: 100_000, maxHops: 100_000 };
const others = ['ann', 'cid'] as const;

const office = (maxHops: number): Agent => {
  const one = (name: string, messages: readonly string[], limits: object = {}): Agent =>
    agent(name, { tools: talk, messages: ['parent', ...messages], topics: ['t'], limits: { ...patience, ...limits } });
  const agents = [
    one('desk', ['ann', 'bob', 'cid']),
    one('ann', ['desk', 'cid']),
    one('bob', ['desk'], { maxHops }),
    one('cid', ['desk', 'ann']),
  ];
  return agent('lead', { tools: [...talk, 'spawn_agent'], limits: patience, spawns: { agents, perMinute: 100 } });
};

/** One of the two runs. */
class Office {
  readonly stage: Stage;
  readonly seen: string[] = [];
  /** What is the same in both runs, and what differs. */
  readonly #seed: number;
  readonly #same: Rng;
  readonly #rng: Rng;
  readonly #roundsOfBob: number;
  #round = 0;
  #said = 0;

  constructor(seed: number, salt: string) {
    this.#seed = seed;
    this.#same = new Rng(`askers ${seed}`);
    this.#rng = new Rng(`askers ${seed} ${salt}`);
    this.#roundsOfBob = 3 + this.#same.below(4);
    this.stage = new Stage([office(1 + this.#same.below(4))], true, ({ agent: name, options }) => {
      const prompt = JSON.stringify(options.prompt);
      // After a crash the same request is made again.
      if (name === 'bob' && this.seen.at(-1) !== prompt) this.seen.push(prompt);
    });
  }

  async run(): Promise<readonly string[]> {
    const { stage } = this;
    await stage.settle();
    for (const name of ['desk', ...others, 'bob'])
      await this.#call('lead', 'spawn_agent', {
        agent_id: name,
        initial_message: 'Begin.',
        auto_subscribe: topicOf(name),
      });
    await stage.say('desk', { text: 'The desk is open.' });
    for (; this.#round < this.#roundsOfBob && stage.pending.includes('bob'); this.#round++) {
      await this.#actsOfOthers();
      await this.#bobAsks();
      await this.#actsOfOthers();
      for (let left = 200; left > 0 && !stage.pending.includes('bob') && this.#isBobAlive(); left--)
        if (stage.pending.includes('desk')) await this.#deskWorks();
        else await this.#actOfOthers();
    }
    stage.live.do({ do: 'cancel' });
    await stage.clock.advance(1_000_000);
    const ends = stage.frames.flatMap(({ record }) =>
      record.type === 'settle' && record.ended?.cell.startsWith('bob-') === true
        ? [`${record.ended.outcome.status} ${record.ended.outcome.failure?.code}`]
        : [],
    );
    return [...this.seen, ...ends];
  }

  #isBobAlive(): boolean {
    return this.stage.live.agents().some(({ agent: name }) => name === 'bob');
  }

  /** Bob writes and waits for the answer, with a tool or idle. If he wrote twice, time would decide whether he gets two answers. */
  async #bobAsks(): Promise<void> {
    await this.#call('bob', 'send_message', { to: 'desk', message: `Bob asks ${this.#round}.` });
    if (!this.stage.pending.includes('bob')) return;
    if (this.#same.percent(50)) await this.#call('bob', 'receive_message', { timeout_ms: 600_000 });
    else await this.stage.say('bob', { text: 'I wait.' });
  }

  /** For Bob, the desk does the same in both runs. On the way, and for others, it does anything. */
  async #deskWorks(): Promise<void> {
    const isForBob = this.stage.shownLast('desk').includes('Bob asks');
    if (this.#rng.percent(40)) return this.#deskTalks();
    if (!isForBob) return this.stage.say('desk', { text: this.#words('The desk answers') });
    if (new Rng(`askers ${this.#seed} ${this.#round}`).percent(40))
      await this.#call('desk', 'send_message', { to: 'bob', message: `For Bob, ${this.#round}.` });
    await this.stage.say('desk', { text: `For Bob, ${this.#round}.` });
  }

  async #deskTalks(): Promise<void> {
    const { stage } = this;
    const kind = this.#rng.below(3);
    if (kind === 0) return this.#call('desk', 'publish', { topic: 't', message: this.#words('The desk says') });
    const other = this.#rng.pick(others);
    if (kind === 1) return this.#call('desk', 'send_message', { to: other, message: this.#words('The desk asks') });
    await this.#call('desk', 'receive_message', { from: [other], timeout_ms: 1 });
    if (!stage.pending.includes('desk')) await stage.clock.advance(1);
  }

  async #actsOfOthers(): Promise<void> {
    for (let count = this.#rng.below(8); count > 0; count--) await this.#actOfOthers();
  }

  async #actOfOthers(): Promise<void> {
    const { stage } = this;
    const kind = this.#rng.below(20);
    if (kind === 0) return stage.crash();
    if (kind === 1)
      return void stage.live.do({
        do: 'send',
        text: this.#words('A person asks'),
        to: this.#rng.pick(['desk', ...others]),
      });
    const pending = stage.pending.filter((name) => name !== 'bob');
    if (pending.length === 0)
      return void stage.live.do({ do: 'send', text: this.#words('A person asks'), to: this.#rng.pick(others) });
    const name = this.#rng.pick(pending);
    if (name === 'desk') return this.#deskWorks();
    if (kind < 5) return stage.say(name, { text: this.#words(`${name} is done with`) });
    if (kind < 8 && name !== 'lead') return this.#call(name, 'publish', { topic: 't', message: this.#words('Hear') });
    if (kind < 11) {
      await this.#call(name, 'receive_message', { timeout_ms: 1 });
      if (!stage.pending.includes(name)) await stage.clock.advance(1);
      return;
    }
    const to = this.#rng.pick(['desk', 'desk', ...others].filter((one) => one !== name));
    await this.#call(name, 'send_message', { to, message: this.#words(`${name} asks`) });
  }

  #words(about: string): string {
    return `${about} ${this.#rng.words()} ${this.#said++}`;
  }

  #call(name: string, tool: string, args: object): Promise<void> {
    return this.stage.say(name, cheap({ calls: [{ tool, args: args as never }] }));
  }
}

/** Bob subscribes to no topic. */
const topicOf = (name: string): readonly string[] => (name === 'bob' ? [] : ['t']);

export type AskersReport = {
  /** The runs that end because the observed agent is in a loop. */
  readonly loops: number;
  readonly pairs: number;
  readonly observations: number;
  readonly differences: readonly string[];
};

export const compareAskers = async (pairs: number, seed: number): Promise<AskersReport> => {
  let [observations, loops] = [0, 0];
  const differences: string[] = [];
  for (let at = seed; at < seed + pairs; at++) {
    const [one, other] = [await new Office(at, 'one').run(), await new Office(at, 'other').run()];
    observations += one.length;
    if (one.at(-1) === 'limit mail_loop') loops++;
    const place = Array.from({ length: Math.max(one.length, other.length) }).findIndex(
      (_, no) => one[no] !== other[no],
    );
    if (place >= 0) differences.push(`seed ${at}, observation ${place}: ${one[place]} | ${other[place]}`);
  }
  return { pairs, observations, loops, differences };
};
