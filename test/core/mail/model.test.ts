// Random lives of agents that spawn, write, publish, read, answer and end, with crashes, against a small model of what
// should have come of it.
/* eslint-disable vitest/no-standalone-expect -- commands and hooks of tests that are below */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Agent } from '#contracts';
import { agent } from '../session/driver.ts';
import { Stage } from './stage.ts';

const names = ['w1', 'w2', 'w3', 'w4', 'w5'];
const tools = [
  'spawn_agent',
  'shutdown_agent',
  'send_message',
  'receive_message',
  'subscribe',
  'publish',
  'receive_broadcast',
] as const;

/** Each may start those after it; all may write to each other, and hear one topic. */
const team = (): Agent => {
  const messages = ['parent', 'children', 'siblings', 'root', ...names];
  const patience = { timeout_ms: 1e9, llmTimeout: 1e9, toolTimeout: 1e9 };
  const limits = {
    ...patience,
    maxToolTurns: 1_000,
    max_steps: 100_000,
    maxHops: 1_000_000,
    answersPerMinute: 1_000_000,
  };
  const spawns = { children: 3, perMinute: 1_000, depth: 3, graceMs: 100 };
  const common = { tools: [...tools], topics: ['t'], messages, limits };
  const made = names
    .toReversed()
    .reduce<readonly Agent[]>(
      (below, name) => [...below, agent(name, { ...common, spawns: { ...spawns, agents: below } })],
      [],
    );
  return agent('root', { ...common, spawns: { ...spawns, agents: made } });
};

/** What should be so. */
type Being = {
  readonly parent: string | null;
  readonly depth: number;
  /** What it was told to be called. */
  id: string;
  alive: boolean;
  hears: boolean;
  /** What lies in its box, oldest first: texts of messages; ends of children as `end <name>`. */
  box: { readonly kind: 'mail' | 'topic'; readonly from: string; readonly text: string }[];
  /** `idle`: waits for anything. */
  state: 'asked' | 'idle' | 'receiving mail' | 'receiving topic';
  askers: string[];
  wroteTo: string[];
};

class Model {
  readonly beings = new Map<string, Being>([['root', being(null, 0)]]);
  count = 0;

  living(): readonly string[] {
    return [...this.beings].flatMap(([name, { alive }]) => (alive ? [name] : []));
  }

  get(name: string): Being {
    return this.beings.get(name)!;
  }

  childrenOf(parent: string): readonly string[] {
    return this.living().filter((name) => this.get(name).parent === parent);
  }

  put(to: string, letter: Being['box'][number]): void {
    const reader = this.get(to);
    reader.box.push(letter);
    if (reader.state === 'idle') this.wake(to);
    if (reader.state === 'receiving mail' && letter.kind === 'mail') this.take(to, 'mail');
    if (reader.state === 'receiving topic' && letter.kind === 'topic') this.take(to, 'topic');
  }

  /** Everything in its box is shown at once. */
  wake(name: string): void {
    const woken = this.get(name);
    woken.askers = woken.box.flatMap(({ kind, from, text }) =>
      kind === 'mail' && text.startsWith('says') ? [from] : [],
    );
    woken.wroteTo = [];
    woken.box = [];
    woken.state = 'asked';
  }

  take(name: string, kind: 'mail' | 'topic'): void {
    const reader = this.get(name);
    const rest = reader.box.filter((letter) => letter.kind !== kind);
    const some = reader.box.filter((letter) => letter.kind === kind);
    reader.box = [...rest, ...some.slice(20)];
    reader.state = 'asked';
  }

  /** It and all below it are over: those below first. */
  end(name: string): void {
    for (const child of this.childrenOf(name)) this.end(child);
    const ended = this.get(name);
    ended.alive = false;
    const { parent } = ended;
    if (parent !== null && this.get(parent).alive) this.put(parent, { kind: 'mail', from: name, text: `end ${name}` });
  }
}

const being = (parent: string | null, depth: number): Being => ({
  parent,
  depth,
  id: 'root',
  alive: true,
  hears: false,
  box: [],
  state: 'asked',
  askers: [],
  wroteTo: [],
});

type Real = { stage: Stage };
type Command = fc.AsyncCommand<Model, Real>;

/** One call of one agent that is being asked, and what it says to that. */
abstract class Turn implements Command {
  readonly who: string;
  readonly other: string;
  constructor(one: string, other: string) {
    this.who = one;
    this.other = other;
  }
  check(model: Readonly<Model>): boolean {
    const one = model.beings.get(this.who);
    return one?.alive === true && one.state === 'asked';
  }
  abstract run(model: Model, real: Real): Promise<void>;
  protected async call({ stage }: Real, tool: string, args: object): Promise<any> {
    await stage.say(this.who, { calls: [{ tool, args: args as never }] });
    const [text = ''] = stage.results(this.who);
    return text.startsWith('{') ? JSON.parse(text) : text;
  }
  toString(): string {
    return `${this.who} ${this.constructor.name} ${this.other}`;
  }
}

class Spawn extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    const { who, other } = this;
    const self = model.get(who);
    const withMessage = model.count++ % 2 === 0;
    const isBelow = who === 'root' || names.indexOf(other) > names.indexOf(who);
    // One of a name at a time: the stage knows them by it.
    if (model.beings.get(other)?.alive === true) return;
    const told = await this.call(real, 'spawn_agent', {
      agent_id: other,
      ...(withMessage ? { initial_message: 'Go on.' } : {}),
    });
    const expected = !isBelow
      ? 'AGENT_NOT_FOUND'
      : self.depth >= 3
        ? 'SPAWN_DEPTH'
        : model.childrenOf(who).length >= 3
          ? 'SPAWN_LIMIT'
          : null;
    expect(told.error?.code ?? null).toBe(expected);
    if (expected !== null) return;
    const born = being(who, self.depth + 1);
    model.beings.set(other, {
      ...born,
      id: told.sub_agent_id,
      state: withMessage ? 'asked' : 'idle',
      askers: withMessage ? [who] : [],
    });
  }
}

class Send extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    const { who, other } = this;
    const text = `says ${model.count++}`;
    const told = await this.call(real, 'send_message', { to: model.beings.get(other)?.id ?? other, message: text });
    const to = model.beings.get(other);
    const expected =
      who === other ? 'NOT_ALLOWED' : to === undefined ? 'AGENT_NOT_FOUND' : to.alive ? null : 'AGENT_ENDED';
    expect(told.error?.code ?? null).toBe(expected);
    if (expected !== null) return;
    model.get(who).wroteTo.push(other);
    model.put(other, { kind: 'mail', from: who, text });
  }
}

class Subscribe extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    expect(await this.call(real, 'subscribe', { topic: 't' })).toMatchObject({ success: true });
    model.get(this.who).hears = true;
  }
}

class Publish extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    const text = `calls ${model.count++}`;
    expect(await this.call(real, 'publish', { topic: 't', message: text })).toMatchObject({ success: true });
    for (const name of model.living())
      if (name !== this.who && model.get(name).hears) model.put(name, { kind: 'topic', from: this.who, text });
  }
}

abstract class Receive extends Turn {
  abstract readonly kind: 'mail' | 'topic';
  async run(model: Model, real: Real): Promise<void> {
    const reader = model.get(this.who);
    const expected = reader.box.filter(({ kind }) => kind === this.kind).slice(0, 20);
    const shown = await this.call(real, this.kind === 'mail' ? 'receive_message' : 'receive_broadcast', {});
    if (expected.length === 0) {
      reader.state = this.kind === 'mail' ? 'receiving mail' : 'receiving topic';
      expect(real.stage.asked).not.toContain(this.who);
      return;
    }
    expect(lettersIn(shown)).toEqual(expected.map(({ text }) => text));
    model.take(this.who, this.kind);
  }
}

/** What each letter says; the end of a child is told as such, whatever it said last. */
const lettersIn = (shown: string): readonly string[] =>
  shown
    .replace(/^.*\n/u, '')
    .split('\n\n')
    .map((letter) => {
      const ended = /^(\w+) has ended/u.exec(letter)?.[1];
      return ended === undefined ? letter.slice(letter.lastIndexOf('| ') + 2) : `end ${ended}`;
    });

class ReceiveMail extends Receive {
  readonly kind = 'mail';
}

class ReceiveTopic extends Receive {
  readonly kind = 'topic';
}

class Answer extends Turn {
  override check(model: Readonly<Model>): boolean {
    return this.who !== 'root' && super.check(model);
  }
  async run(model: Model, real: Real): Promise<void> {
    const self = model.get(this.who);
    const text = `answers ${model.count++}`;
    await real.stage.say(this.who, { text });
    const askers = [...new Set(self.askers)].filter((asker) => !self.wroteTo.includes(asker));
    self.askers = [];
    self.state = 'idle';
    for (const asker of askers) if (model.get(asker).alive) model.put(asker, { kind: 'mail', from: this.who, text });
    if (self.box.length > 0) model.wake(this.who);
  }
}

class ShutDown extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    const { who, other } = this;
    const isOwn = model.beings.get(other)?.parent === who;
    await real.stage.say(who, {
      calls: [{ tool: 'shutdown_agent', args: { sub_agent_id: model.beings.get(other)?.id ?? other } }],
    });
    if (isOwn && model.get(other).alive) {
      await real.stage.clock.advance(200);
      await real.stage.clock.advance(200);
      model.end(other);
    }
    // It is told of the end by the call itself.
    model.get(who).box = model.get(who).box.filter((letter) => letter.text !== `end ${other}` || letter.from !== other);
    const [text = ''] = real.stage.results(who);
    expect(JSON.parse(text).error?.code ?? null).toBe(isOwn ? null : 'AGENT_NOT_FOUND');
  }
}

class Crash implements Command {
  check(): boolean {
    return true;
  }
  async run(_model: Model, { stage }: Real): Promise<void> {
    await stage.crash();
  }
  toString(): string {
    return 'crash';
  }
}

class TimeOut implements Command {
  check(): boolean {
    return true;
  }
  /** Long enough for every wait that has an end. */
  async run(model: Model, { stage }: Real): Promise<void> {
    await stage.clock.advance(31_000);
    for (const name of model.living())
      if (model.get(name).state.startsWith('receiving')) model.get(name).state = 'asked';
  }
  toString(): string {
    return 'time passes';
  }
}

/** After every command: who is asked something, and what became of every message. */
const agreed = (command: Command): Command => ({
  check: (model) => command.check(model),
  run: async (model, real) => {
    await command.run(model, real);
    const expected = model.living().filter((name) => model.get(name).state === 'asked');
    expect([...real.stage.asked].sort()).toEqual([...expected].sort());
    const queued = real.stage.mail().filter(({ state }) => state === 'queued').length;
    expect(queued).toBe(model.living().reduce((sum, name) => sum + model.get(name).box.length, 0));
  },
  toString: () => String(command),
});

const who = fc.constantFrom('root', ...names);
const turns = [
  Spawn,
  Spawn,
  Spawn,
  Send,
  Send,
  Send,
  Subscribe,
  Publish,
  ReceiveMail,
  ReceiveTopic,
  Answer,
  Answer,
  ShutDown,
];
const commands = [
  ...turns.map((Kind) => fc.tuple(who, who).map(([one, other]) => agreed(new Kind(one, other)))),
  fc.constant(agreed(new Crash())),
  fc.constant(agreed(new TimeOut())),
];

describe('mail and lives of agents', () => {
  test('come out as a small model of them says, whatever happens in which order, crashes too', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 80, size: '+1' }), async (sequence) => {
        const stage = new Stage([team()], false);
        await stage.settle();
        await fc.asyncModelRun(() => ({ model: new Model(), real: { stage } }), sequence);
        stage.live.cancel();
        await stage.clock.advance(1_000);
        await stage.live.outcome;
        expect(stage.timers.size).toBe(0);
        expect(await stage.audit()).toMatchObject({ problems: [], unattributedBytes: 0 });
      }),
      { numRuns: 120, endOnFailure: false },
    );
  });
});
