// One run of the team, and everything that the cells without private content received in it.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { cellNames, hostOf, moduleHook } from './agent-folder.ts';
import type { CellName } from './agent-folder.ts';
import { World } from './fake-world.ts';
import type { Cloister } from './fake-world.ts';
import { chatError, chatResponse, withFetch } from './fake-wire.ts';
import type { Sent } from './fake-wire.ts';
import { parseRequest, replyTo, twinReply, variedReply, watchedMark, watchedReply } from './files-cells.ts';
import type { Role } from './files-cells.ts';
import { shellOf, writeTeam } from './files-team.ts';
import type { Extras, States } from './files-team.ts';
import { guesses, plainState } from './files-vary.ts';
import type { Shape, State } from './files-vary.ts';
import { Observer } from './observer.ts';
import type { Observation, ToolContext } from './observer.ts';
import type { WebHandler } from './web-server.ts';

export type StdioServers = Extras & {
  readonly has: (cell: CellName) => boolean;
  /** What the processes of a cell received. */
  readonly seen: (cell: CellName) => Promise<readonly Observation[]>;
};

export const envName = 'CLOISTER_TWO_RUN_SECRET';

/** Runs in a folder created for it. */
export const watchTeam = async (
  cloister: Cloister,
  root: string,
  shape: Shape,
  state: State,
  stdioServers?: StdioServers,
): Promise<readonly Observation[]> => {
  const states = Object.fromEntries(
    cellNames.map((cell) => [cell, cell === shape.varied ? state : plainState(cell)]),
  ) as States;
  rmSync(root, { recursive: true, force: true });
  writeTeam(root, shape, states, stdioServers);
  for (const name of ['here', 'home']) mkdirSync(join(root, name));
  const team = new Team(shape, states, stdioServers?.has ?? (() => false));
  const outcome = await withEnvironment(root, state, () => team.run(cloister, root, stdioServers === undefined));
  if (shape.varied !== 'lead') team.observer('lead', 'run').note('outcome', outcome);
  const processes = stdioServers === undefined ? [] : await Promise.all(team.watched.map(stdioServers.seen));
  return [...team.observations, ...processes.flat()];
};

/** A home folder without config, and environment variables that nothing refers to. */
const withEnvironment = async <T>(root: string, { processEnv }: State, work: () => Promise<T>): Promise<T> => {
  const { HOME: home } = process.env;
  Object.assign(process.env, { HOME: join(root, 'home'), [envName]: processEnv, KEY: processEnv, TOKEN: processEnv });
  try {
    return await work();
  } finally {
    for (const name of [envName, 'KEY', 'TOKEN']) delete process.env[name];
    if (home === undefined) delete process.env['HOME'];
    else process.env['HOME'] = home;
  }
};

type ModuleCall = {
  readonly tool: string;
  readonly args: { readonly mark?: string; readonly watched?: string };
  readonly context: ToolContext;
  readonly secret: string;
};

class Team {
  readonly #shape: Shape;
  readonly #states: States;
  readonly #hasStdioServer: (cell: CellName) => boolean;
  readonly #world: World;
  readonly #observers = new Map<string, Observer>();
  readonly #listings = new Set<string>();
  readonly #servers = new Map<CellName, WebHandler>();
  #faults = 0;

  constructor(shape: Shape, states: States, hasStdioServer: (cell: CellName) => boolean) {
    this.#shape = shape;
    this.#states = states;
    this.#hasStdioServer = hasStdioServer;
    this.#world = new World(states[shape.varied].ids, states[shape.varied].startMs);
  }

  get watched(): readonly CellName[] {
    return cellNames.filter((cell) => cell !== this.#shape.varied);
  }

  /** Sorted by cell and by sink: what a cell does in parallel has no order. */
  get observations(): readonly Observation[] {
    return [...this.#observers]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .flatMap(([, { observations }]) => observations);
  }

  observer(cell: CellName, channel: string): Observer {
    const name = `${cell} ${channel}`;
    if (!this.#observers.has(name)) this.#observers.set(name, new Observer(name, this.#world.drawn));
    return this.#observers.get(name)!;
  }

  async run({ openCloister }: Cloister, root: string, fakeTime: boolean) {
    Object.assign(globalThis, { [moduleHook]: (cell: CellName, one: ModuleCall) => this.#module(cell, one) });
    const { startMs } = this.#states[this.#shape.varied];
    let now = startMs;
    return withFetch(
      async (sent, request) => this.#answer(sent, request),
      async () => {
        const home = await openCloister({
          store: 'memory',
          agents: ['lead/lead.ai'],
          cwd: root,
          ...(this.#shape.keysFrom === 'shell'
            ? { env: { ...shellOf(this.#shape, this.#states), PATH: pathOf() } }
            : {}),
          ids: this.#world.ids,
          // Timeouts are real and far away; the time of day is as private as the rest.
          ...(fakeTime && { clock: { now: () => now++, timer: realTimer } }),
        });
        const session = home.run('lead', `${watchedMark} What is better, tea or coffee? ${guesses}`);
        const { status, output, failure, missing } = await session.outcome;
        await home.close();
        return { status, output, failure, missing };
      },
    );
  }

  async #answer(sent: Sent, request: () => Request): Promise<Response> {
    const cell = cellNames.find((name) => sent.host.startsWith(`${hostOf(name)}.`));
    if (cell === undefined) throw new Error(`Something was sent to ${sent.url}.`);
    return sent.host.endsWith('.model.invalid') ? this.#think(cell, sent) : this.#serve(cell, sent, request);
  }

  async #think(cell: CellName, sent: Sent): Promise<Response> {
    const request = parseRequest(sent);
    const role: Role = { cell, shape: this.#shape, hasStdioServer: this.#hasStdioServer(cell) };
    if (cell !== this.#shape.varied) {
      if (!request.watched) return chatResponse(replyTo(request, twinReply(request, role)));
      this.observer(cell, 'model').note(`turn ${request.turn}`, sent);
      return chatResponse(replyTo(request, watchedReply(role, request)));
    }
    const state = this.#states[cell];
    for (let hop = 0; hop < state.hops; hop++) await setImmediate();
    if (this.#faults++ < state.faults) return chatError(500, state.words);
    const reply = variedReply(role, state, request);
    const ends = reply.calls.length === 0 && cell !== 'lead' && this.#shape.ending === 'refused';
    return ends ? chatError(401, state.words) : chatResponse(replyTo(request, reply));
  }

  #module(cell: CellName, { tool, args, context, secret }: ModuleCall): string {
    if (cell !== this.#shape.varied && args.watched === watchedMark)
      this.observer(cell, 'tools').toolCall(tool, args, context);
    const found = `${args.mark} ${secret}`;
    if (tool === 'fail') throw new Error(`No luck with ${found}.`);
    return tool === 'long' ? `${found} `.padEnd(2_000, 'and so on ') : `Seen by ${found}.`;
  }

  async #serve(cell: CellName, sent: Sent, request: () => Request): Promise<Response> {
    const { varied, ending } = this.#shape;
    if (cell === varied && cell !== 'lead' && ending === 'unlisted')
      return new Response(this.#states[cell].words, { status: 500 });
    if (cell !== varied) this.#noteRequest(cell, sent);
    return (await this.#server(cell)).fetch(request());
  }

  /** Every session lists the tools with the same bytes; how many sessions an agent has is its caller's business. */
  #noteRequest(cell: CellName, sent: Sent): void {
    if (sent.body.includes(watchedMark)) return this.observer(cell, 'server').note('call', sent);
    const bytes = JSON.stringify(sent);
    if (this.#listings.has(bytes)) return;
    this.#listings.add(bytes);
    this.observer(cell, 'server').note('listing', sent);
  }

  async #server(cell: CellName): Promise<WebHandler> {
    const { webHandler } = await import('./web-server.ts');
    const { results, descriptions } = this.#states[cell];
    const handler = this.#servers.get(cell) ?? webHandler(results, descriptions);
    this.#servers.set(cell, handler);
    return handler;
  }
}

const realTimer = (ms: number, due: () => void): (() => void) => {
  const timer = setTimeout(due, ms);
  return () => clearTimeout(timer);
};

const pathOf = (): string => process.env['PATH'] ?? '';
