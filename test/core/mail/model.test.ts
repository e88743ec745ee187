// Random lifetimes of agents that spawn, send, publish, receive, answer and end, with crashes, compared with a small model of the
// expected state.
/* eslint-disable vitest/no-standalone-expect -- commands and hooks of tests that are below */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CellId, Hash } from '#base';
import type { Agent, Crossed, Frame, ReceiveResult } from '#contracts';
import { Directory } from '#core/bus';
import { MailDirectoryFold } from '#core/events';
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

/** Each agent may spawn the ones after it; all may message each other, and use one topic. */
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

/** The expected state of one agent. */
type AgentState = {
  readonly parent: string | null;
  readonly depth: number;
  /** The id that spawn_agent returned for it. */
  id: string;
  alive: boolean;
  isSubscribed: boolean;
  /** The unread messages, oldest first: texts of messages; ends of children as `end <name>`. */
  unread: { readonly kind: 'mail' | 'topic'; readonly from: string; readonly text: string }[];
  /** `idle`: waits for any message. */
  state: 'pending' | 'idle' | 'receiving mail' | 'receiving topic';
  asker: string | null;
  wroteTo: string[];
};

class Model {
  readonly agents = new Map<string, AgentState>([['root', newAgentState(null, 0)]]);
  count = 0;

  liveNames(): readonly string[] {
    return [...this.agents].flatMap(([name, { alive }]) => (alive ? [name] : []));
  }

  get(name: string): AgentState {
    return this.agents.get(name)!;
  }

  childrenOf(parent: string): readonly string[] {
    return this.liveNames().filter((name) => this.get(name).parent === parent);
  }

  put(to: string, message: AgentState['unread'][number]): void {
    const reader = this.get(to);
    reader.unread.push(message);
    if (reader.state === 'idle') this.wake(to);
    if (reader.state === 'receiving mail' && message.kind === 'mail') this.take(to, 'mail');
    if (reader.state === 'receiving topic' && message.kind === 'topic') this.take(to, 'topic');
  }

  /** A woken agent is shown all mail of the asker that has waited longest, or all mail of those that ask nothing. */
  wake(name: string): void {
    const woken = this.get(name);
    const asks = (sender: string): boolean =>
      woken.unread.some(({ kind, from, text }) => kind === 'mail' && from === sender && text.startsWith('says'));
    const oldest = woken.unread[0]!.from;
    const isPart = (sender: string): boolean => (asks(oldest) ? sender === oldest : !asks(sender));
    const work = woken.unread.filter(({ from }) => isPart(from));
    woken.asker = asks(oldest) ? oldest : null;
    woken.wroteTo = [];
    woken.unread = woken.unread.filter((message) => !work.includes(message));
    woken.state = 'pending';
  }

  take(name: string, kind: 'mail' | 'topic'): void {
    const reader = this.get(name);
    const rest = reader.unread.filter((message) => message.kind !== kind);
    const matching = reader.unread.filter((message) => message.kind === kind);
    reader.unread = [...rest, ...matching.slice(20)];
    reader.state = 'pending';
  }

  /** Ends the agent and all its descendants, descendants first. */
  end(name: string): void {
    for (const child of this.childrenOf(name)) this.end(child);
    const ended = this.get(name);
    ended.alive = false;
    const { parent } = ended;
    if (parent !== null && this.get(parent).alive) this.put(parent, { kind: 'mail', from: name, text: `end ${name}` });
  }
}

const newAgentState = (parent: string | null, depth: number): AgentState => ({
  parent,
  depth,
  id: 'root',
  alive: true,
  isSubscribed: false,
  unread: [],
  state: 'pending',
  asker: null,
  wroteTo: [],
});

type Real = { stage: Stage };
type Command = fc.AsyncCommand<Model, Real>;

/** One tool call or answer of one agent whose model has a pending request. */
abstract class Turn implements Command {
  readonly who: string;
  readonly other: string;
  constructor(one: string, other: string) {
    this.who = one;
    this.other = other;
  }
  check(model: Readonly<Model>): boolean {
    const one = model.agents.get(this.who);
    return one?.alive === true && one.state === 'pending';
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
    // Only one agent of each name at a time: the stage identifies agents by name.
    if (model.agents.get(other)?.alive === true) return;
    const reply = await this.call(real, 'spawn_agent', {
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
    expect(reply.error?.code ?? null).toBe(expected);
    if (expected !== null) return;
    const created = newAgentState(who, self.depth + 1);
    model.agents.set(other, {
      ...created,
      id: reply.sub_agent_id,
      state: withMessage ? 'pending' : 'idle',
      asker: withMessage ? who : null,
    });
  }
}

class Send extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    const { who, other } = this;
    const text = `says ${model.count++}`;
    const reply = await this.call(real, 'send_message', { to: model.agents.get(other)?.id ?? other, message: text });
    const to = model.agents.get(other);
    const expected =
      who === other ? 'NOT_ALLOWED' : to === undefined ? 'AGENT_NOT_FOUND' : to.alive ? null : 'AGENT_ENDED';
    expect(reply.error?.code ?? null).toBe(expected);
    if (expected !== null) return;
    model.get(who).wroteTo.push(other);
    model.put(other, { kind: 'mail', from: who, text });
  }
}

class Subscribe extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    expect(await this.call(real, 'subscribe', { topic: 't' })).toMatchObject({ success: true });
    model.get(this.who).isSubscribed = true;
  }
}

class Publish extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    const text = `calls ${model.count++}`;
    expect(await this.call(real, 'publish', { topic: 't', message: text })).toMatchObject({ success: true });
    for (const name of model.liveNames())
      if (name !== this.who && model.get(name).isSubscribed) model.put(name, { kind: 'topic', from: this.who, text });
  }
}

abstract class Receive extends Turn {
  abstract readonly kind: 'mail' | 'topic';
  async run(model: Model, real: Real): Promise<void> {
    const reader = model.get(this.who);
    const expected = reader.unread.filter(({ kind }) => kind === this.kind).slice(0, 20);
    const shown = await this.call(real, this.kind === 'mail' ? 'receive_message' : 'receive_broadcast', {});
    if (expected.length === 0) {
      reader.state = this.kind === 'mail' ? 'receiving mail' : 'receiving topic';
      expect(real.stage.pending).not.toContain(this.who);
      return;
    }
    expect(messageTexts(shown)).toEqual(expected.map(({ text }) => text));
    model.take(this.who, this.kind);
  }
}

/** The text of each message; the end of a child is reported as such, whatever its last answer was. */
const messageTexts = (shown: string): readonly string[] =>
  shown
    .replace(/^.*\n/u, '')
    .split('\n\n')
    .map((message) => {
      const ended = /^(\w+) has ended/u.exec(message)?.[1];
      return ended === undefined ? message.slice(message.lastIndexOf('| ') + 2) : `end ${ended}`;
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
    const { asker } = self;
    self.state = 'idle';
    if (asker !== null && !self.wroteTo.includes(asker) && model.get(asker).alive)
      model.put(asker, { kind: 'mail', from: this.who, text });
    if (self.unread.length > 0) model.wake(this.who);
  }
}

class ShutDown extends Turn {
  async run(model: Model, real: Real): Promise<void> {
    const { who, other } = this;
    const isOwn = model.agents.get(other)?.parent === who;
    await real.stage.say(who, {
      calls: [{ tool: 'shutdown_agent', args: { sub_agent_id: model.agents.get(other)?.id ?? other } }],
    });
    if (isOwn && model.get(other).alive) {
      await real.stage.clock.advance(200);
      await real.stage.clock.advance(200);
      model.end(other);
    }
    // The call itself reports the end, so no message does.
    model.get(who).unread = model
      .get(who)
      .unread.filter((message) => message.text !== `end ${other}` || message.from !== other);
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
  /** Long enough for every wait with a timeout. */
  async run(model: Model, { stage }: Real): Promise<void> {
    await stage.clock.advance(31_000);
    for (const name of model.liveNames())
      if (model.get(name).state.startsWith('receiving')) model.get(name).state = 'pending';
  }
  toString(): string {
    return 'time passes';
  }
}

/** After every command, compares which agents have a pending request, and how many messages are unread. */
const checked = (command: Command): Command => ({
  check: (model) => command.check(model),
  run: async (model, real) => {
    await command.run(model, real);
    const expected = model.liveNames().filter((name) => model.get(name).state === 'pending');
    expect([...real.stage.pending].sort()).toEqual([...expected].sort());
    const queued = real.stage.mail().filter(({ state }) => state === 'queued').length;
    expect(queued).toBe(model.liveNames().reduce((sum, name) => sum + model.get(name).unread.length, 0));
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
  ...turns.map((Kind) => fc.tuple(who, who).map(([one, other]) => checked(new Kind(one, other)))),
  fc.constant(checked(new Crash())),
  fc.constant(checked(new TimeOut())),
];

type MailState = readonly { readonly cell: CellId; readonly unread: readonly number[] }[];

const mailState = (directory: Directory): MailState =>
  [...directory.all].map(({ cell, parent, name, subscriptions, ended, mailbox: { unread, closing } }) => ({
    cell,
    parent,
    name,
    closing,
    subscriptions: [...subscriptions],
    ended: ended.map((one) => one.cell),
    unread: unread.map(({ seq }) => seq),
  }));

/** A mailbox hands messages out just before the frame that says so. */
const withoutHandedOut = (state: MailState, { cell, record }: Frame): MailState => {
  if (record.type !== 'settle') return state;
  const { messages = [], expired = [] } = (record.value ?? {}) as Partial<ReceiveResult>;
  const isKept = (seq: number): boolean => !messages.includes(seq) && !expired.includes(seq);
  return state.map((one) => (one.cell === cell ? { ...one, unread: one.unread.filter(isKept) } : one));
};

/** Before each frame, compares the mail of the live run with the fold over the frames in its log. */
const compareWithLog = (stage: Stage): { compared: number } => {
  const directory = new Directory({ check: () => undefined });
  const fold = new MailDirectoryFold(directory);
  const definitionOf = (digest: Hash) =>
    stage.frames.flatMap(({ definitions = [] }) => definitions).find((one) => one.digest === digest)?.definition;
  const counts = { folded: 0, compared: 0 };
  stage.beforeFrame = (frame) => {
    for (; counts.folded < stage.frames.length; counts.folded++)
      fold.next(stage.frames[counts.folded] as Frame<Crossed>, { definitionOf });
    const logged = withoutHandedOut(mailState(directory), frame);
    expect(withoutHandedOut(mailState(stage.live.mail.directory), frame)).toEqual(logged);
    counts.compared++;
  };
  return counts;
};

describe('mail and agent lifetimes', () => {
  // invariant: mailbox-holds-what-is-logged
  test('before every frame, the mail of the run is what the fold over its log gives, also after crashes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: '+1' }), async (sequence) => {
        const stage = new Stage([team()], false);
        await stage.settle();
        const counts = compareWithLog(stage);
        await fc.asyncModelRun(() => ({ model: new Model(), real: { stage } }), sequence);
        const { length } = stage.frames;
        stage.live.do({ do: 'cancel' });
        await stage.clock.advance(1_000);
        await stage.live.outcome;
        expect(counts.compared).toBeGreaterThanOrEqual(stage.frames.length - length);
      }),
      { numRuns: 30, endOnFailure: false },
    );
  });

  test('match a small model, whatever the order of commands, including crashes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 80, size: '+1' }), async (sequence) => {
        const stage = new Stage([team()], false);
        await stage.settle();
        await fc.asyncModelRun(() => ({ model: new Model(), real: { stage } }), sequence);
        stage.live.do({ do: 'cancel' });
        await stage.clock.advance(1_000);
        await stage.live.outcome;
        expect(stage.timers.size).toBe(0);
        expect(await stage.audit()).toMatchObject({ problems: [], unattributedBytes: 0 });
      }),
      { numRuns: 120, endOnFailure: false },
    );
  });
});
