// A fake Slack and processes that answer in it, all on one clock and one disk. A process can be killed at any moment: from then on it
// writes nothing, calls nobody and hears nothing.
import { memoryCellFolders } from '#adapters/cell-folders';
import { schemaProblem, toolSchemaProblem, validate } from '#adapters/schemas';
import { recordFormats } from '#base';
import type { JsonObject } from '#base';
import type { Caller, Clock, TokenEntry } from '#contracts';
import { openSlackHeadend } from '#headends/slack';
import { connectReceiver, countingIds, fakeSlackApi, FakeSlack } from '#testkit';
import type { FakeSlackOptions } from '#testkit';
import { CloisterError } from '#base';
import type { Agent } from 'cloister';
import { LocalCloister } from '../../../src/app/local-cloister.ts';
import { resolveAgentResources } from '../../../src/app/resolve-resources.ts';
import { LocalAgentService } from '../../../src/app/serve/local-agent-service.ts';
import { SlotQueue, slotLimitsFor } from '../../../src/app/serve/slot-queue.ts';
import type { SlotLimits } from '../../../src/app/serve/slot-queue.ts';
import { RateLimiter, TokenRegistry } from '../../../src/app/serve/token-registry.ts';
import { newMapDisk, openMapStore } from '../../adapters/stores/map-disk.ts';
import type { MapDisk } from '../../adapters/stores/map-disk.ts';
import { turns } from '../serve/crowd-world.ts';

type SlackHeadend = ReturnType<typeof openSlackHeadend>;
type SlackHeadendPorts = Parameters<typeof openSlackHeadend>[0];

export const startMs = Date.UTC(2030, 0, 1);

type SlackWorldOptions = {
  /** Made anew for each process. */
  readonly agents: (clock: Clock) => readonly Agent[];
  readonly config?: Partial<SlackHeadendPorts['config']>;
  readonly people?: Partial<TokenEntry>;
  /** People who may use the app. */
  readonly users?: readonly string[];
  readonly entries?: readonly TokenEntry[];
  readonly slots?: Partial<SlotLimits>;
  readonly slack?: Partial<FakeSlackOptions>;
  readonly latencyMs?: () => number;
  readonly redact?: (text: string) => string;
};

type Timer = { readonly at: number; readonly due: () => void };

/** Time that jumps from timer to timer, after everything has settled. */
class JumpingTime {
  #now = startMs;
  readonly #timers: Timer[] = [];
  /** A chain of commits, and of readers that let writers go first, took nine turns: time jumped past it, and a run seemed to work longer. */
  readonly #patience = 24;

  now(): number {
    return this.#now;
  }

  timer(ms: number, due: () => void): () => void {
    const set = { at: this.#now + Math.max(0, ms), due };
    const later = this.#timers.findIndex(({ at }) => at > set.at);
    this.#timers.splice(later === -1 ? this.#timers.length : later, 0, set);
    return () => {
      const place = this.#timers.indexOf(set);
      if (place >= 0) this.#timers.splice(place, 1);
    };
  }

  /** Lets this much time pass. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    await turns(this.#patience);
    for (;;) {
      const next = this.#timers[0];
      if (next === undefined || next.at > until) break;
      this.#timers.shift();
      this.#now = Math.max(this.#now, next.at);
      next.due();
      await turns(this.#patience);
    }
    this.#now = until;
  }

  /** Until it holds; at most an hour. */
  async until(check: () => unknown, what = 'it'): Promise<void> {
    for (let passed = 0; passed < 3_600_000; passed += 250) {
      await turns(this.#patience);
      if (check()) return;
      await this.pass(250);
    }
    throw new Error(`Nothing more happens, and ${what} does not hold.`);
  }

  async finish<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    await this.until(() => isOver, 'the end of the work');
    return work;
  }
}

export type SlackProcess = {
  readonly headend: SlackHeadend;
  readonly service: LocalAgentService;
  readonly cloister: LocalCloister;
  readonly logged: readonly string[];
  /** Nothing more comes of it. */
  kill(): void;
  stop(): Promise<void>;
};

export type SlackWorld = {
  readonly slack: FakeSlack;
  readonly time: JumpingTime;
  readonly disk: MapDisk;
  start(): Promise<SlackProcess>;
  /** All messages of the app in a thread, without those for one person only. */
  said(channel: string, thread: string): readonly string[];
  /** Called for each call of Slack's web API, before it. */
  onCall: (method: string, args: JsonObject) => void;
  /** Called for each commit of a store, which `replace` makes durable. */
  onCommit: (replace: () => void) => void;
};

export const person = (user: string): Caller => ({ name: `slack:T1/${user}` });

export const openSlackWorld = (options: SlackWorldOptions): SlackWorld => {
  const time = new JumpingTime();
  const disk = newMapDisk();
  const slack = new FakeSlack({ clock: time, ...options.slack });
  const ids = countingIds(7);
  // Files of cells outlive processes.
  const folders = memoryCellFolders();
  const world: SlackWorld = {
    slack,
    time,
    disk,
    onCall: () => undefined,
    onCommit: (replace) => replace(),
    said: (channel, thread) =>
      slack
        .thread(channel, thread)
        .filter(({ isByApp }) => isByApp)
        .map(({ text }) => text),
    start: async () => {
      let isAlive = true;
      const clock: Clock = {
        now: () => time.now(),
        timer: (ms, due) => time.timer(ms, () => (isAlive ? due() : undefined)),
      };
      const store = openMapStore(disk, { commit: (replace) => world.onCommit(replace) });
      const agents = options.agents(clock);
      const cloister = new LocalCloister(agents, {
        store,
        workspaces: folders,
        validate,
        schemaProblem,
        toolSchemaProblem,
        clock,
        ids,
        lanes: new Map(),
        resources: await resolveAgentResources({ agents }),
        startInfo: undefined,
        recordedBy: { format: recordFormats.newest, build: 'test' },
      });
      const tokens = new TokenRegistry(
        [
          ...(options.users ?? ['U1', 'U2', 'U9']).map((user) => ({
            name: person(user).name,
            sha256: '0'.repeat(64),
            ...options.people,
          })),
          ...(options.entries ?? []),
        ],
        () => time.now(),
      );
      const service = new LocalAgentService({
        cloister,
        agents: agents.map(({ name }) => name),
        tokens,
        slots: new SlotQueue(slotLimitsFor(options.slots ?? {}, 2)),
        clients: { system: false, tools: false, activity: false, compat: false },
        clock,
      });
      const rates = new RateLimiter(() => time.now());
      const api = fakeSlackApi(slack, { latencyMs: options.latencyMs ?? (() => 20) });
      const never = new Promise<never>(() => undefined);
      const whileAlive = <T>(act: () => Promise<T>): Promise<T> =>
        isAlive ? act().then((value) => (isAlive ? value : never)) : never;
      const logged: string[] = [];
      const headend = openSlackHeadend({
        service,
        api: {
          call: (method, args) => {
            if (isAlive) world.onCall(method, args);
            return whileAlive(() => api.call(method, args));
          },
          upload: (file) => whileAlive(() => api.upload(file)),
        },
        inbox: cloister.inbox('slack'),
        config: {
          team: 'T1',
          botToken: 'xoxb-1',
          appToken: 'xapp-1',
          channels: { C1: { agent: 'lead' } },
          dm: { agent: 'lead' },
          ...options.config,
        },
        clock,
        admit: (caller) => {
          const entry = tokens.entry(caller);
          if (entry === undefined) throw new CloisterError('token_refused');
          rates.consume(caller.name, entry.requestsPerMinute);
        },
        redact: options.redact ?? ((text) => text),
        log: (text) => void logged.push(text),
      });
      headend.start({ team: 'T1', bot: slack.ids.botUser });
      service.resumeInterruptedRuns();
      const connection = connectReceiver(slack, (delivery) => whileAlive(() => headend.receive(delivery)));
      return {
        headend,
        service,
        cloister,
        logged,
        kill: () => {
          isAlive = false;
          store.kill();
          connection.end();
        },
        stop: async () => {
          connection.end();
          await time.finish(service.drain(1_000));
          await time.finish(headend.stop());
          await time.finish(cloister.close());
        },
      };
    },
  };
  return world;
};
