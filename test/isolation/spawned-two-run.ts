// Pairs of runs in which an agent spawns helpers, answers its caller, and waits for them. In the two runs it does the same, and
// each helper ends the same way; everything else that helpers do differs: what they write to their parent and to each other, how
// long they work, when the process crashes. What crosses to the caller, and what it is shown, must be the same, byte for byte.
import { agent, cheap } from '../core/session/driver.ts';
import { Stage } from '../core/mail/stage.ts';
import { Rng } from '../../src/testkit/isolation/rng.ts';

const talk = ['send_message', 'receive_message'];
const names = ['ann', 'bob', 'cid'] as const;
const limits = { maxToolTurns: 1_000, max_steps: 10_000, timeout_ms: 1e9, llmTimeout: 1e9, maxHops: 1_000 };
const waitMs = 100_000;

const helpers = names.map((name) => agent(name, { tools: talk, messages: ['parent', 'siblings'], limits }));
const chief = agent('chief', { tools: [...talk, 'spawn_agent'], limits, spawns: { agents: helpers, waitMs } });
const caller = agent('caller', { agents: [chief], limits });

/** How a helper ends: with an answer, with a failure, or not by itself. */
type End = 'answers' | 'fails' | 'works on';

/** One of the two runs. */
class Outing {
  readonly #stage: Stage;
  readonly #seen: string[] = [];
  readonly #rng: Rng;
  readonly #ends: ReadonlyMap<string, End>;
  readonly #readsFirst: boolean;

  constructor(seed: number, salt: string) {
    const same = new Rng(`spawned ${seed}`);
    this.#rng = new Rng(`spawned ${seed} ${salt}`);
    const count = 1 + same.below(names.length);
    const ends: readonly End[] = ['answers', 'answers', 'fails', 'works on'];
    this.#ends = new Map(names.slice(0, count).map((name) => [name, same.pick(ends)]));
    this.#readsFirst = same.percent(30);
    this.#stage = new Stage([caller], false, ({ agent: name, options }) => {
      const prompt = JSON.stringify(options.prompt);
      // After a crash the same request is made again.
      if (name === 'caller' && this.#seen.at(-1) !== prompt) this.#seen.push(prompt);
    });
  }

  async run(): Promise<readonly string[]> {
    const stage = this.#stage;
    await stage.settle();
    await this.#call('caller', 'chief', { prompt: 'Go.' });
    for (const name of this.#ends.keys())
      await this.#call('chief', 'spawn_agent', { agent_id: name, initial_message: 'Begin.' });
    for (let acts = this.#rng.below(4); acts > 0; acts--) await this.#act();
    if (this.#readsFirst) {
      await this.#call('chief', 'receive_message', { timeout_ms: 10 });
      if (!stage.pending.includes('chief')) await stage.clock.advance(10);
    }
    await stage.say('chief', { text: 'They are at it.' });
    for (let acts = this.#rng.below(20); acts > 0; acts--) await this.#act();
    while (this.#open().length > 0) await this.#end(this.#rng.pick(this.#open()));
    await stage.clock.advance(2 * waitMs);
    await stage.until(() => stage.pending.includes('caller'));
    await stage.say('caller', { text: 'All in.' });
    const { status, output, missing } = await stage.live.outcome;
    const crossed = stage.frames.flatMap(({ contents = [] }) =>
      contents.flatMap(({ to, content }) => (to.startsWith('caller-') ? [content] : [])),
    );
    return [...this.#seen, ...crossed, JSON.stringify({ status, output, missing })];
  }

  /** Helpers at work that end by themselves. */
  #open(): readonly string[] {
    return this.#stage.pending.filter((name) => this.#ends.has(name) && this.#ends.get(name) !== 'works on');
  }

  async #act(): Promise<void> {
    const stage = this.#stage;
    const working = stage.pending.filter((name) => this.#ends.has(name));
    const kind = this.#rng.below(10);
    if (kind === 0) return stage.crash();
    if (kind === 1) return stage.clock.advance(this.#rng.below(50));
    if (working.length === 0) return;
    const name = this.#rng.pick(working);
    if (kind < 4) {
      await this.#call(name, 'receive_message', { timeout_ms: 1 });
      if (!stage.pending.includes(name)) await stage.clock.advance(1);
    } else if (kind < 8) {
      const to = this.#rng.pick(['parent', ...names.filter((one) => one !== name)]);
      await this.#call(name, 'send_message', { to, message: this.#rng.words() });
    } else if (this.#ends.get(name) === 'answers') await this.#end(name);
  }

  #end(name: string): Promise<void> {
    if (this.#ends.get(name) === 'fails') return this.#stage.say(name, { fault: 401 });
    return this.#stage.say(name, { text: `${this.#rng.words()} ${'and more '.repeat(this.#rng.below(5))}` });
  }

  #call(name: string, tool: string, args: object): Promise<void> {
    return this.#stage.say(name, cheap({ calls: [{ tool, args: args as never }] }));
  }
}

export type SpawnedReport = {
  readonly pairs: number;
  /** The pairs in which an agent left work unfinished. */
  readonly unfinished: number;
  readonly differences: readonly string[];
};

export const compareSpawned = async (pairs: number, seed: number): Promise<SpawnedReport> => {
  let unfinished = 0;
  const differences: string[] = [];
  for (let at = seed; at < seed + pairs; at++) {
    const [one, other] = [await new Outing(at, 'one').run(), await new Outing(at, 'other').run()];
    if (one.at(-1)?.includes('"partial"') === true) unfinished++;
    const place = Array.from({ length: Math.max(one.length, other.length) }).findIndex(
      (_, no) => one[no] !== other[no],
    );
    if (place >= 0) differences.push(`seed ${at}, observation ${place}: ${one[place]} | ${other[place]}`);
  }
  return { pairs, unfinished, differences };
};
