// Many callers at once, over every protocol, whose questions differ only in a word: whoever is told another's word was crossed.
import { openCloister, openServer } from 'cloister';
import { askedBy, headersFor } from './crowd-requests.ts';
import type { Asking, Kind } from './crowd-requests.ts';
import { crowdAgent, ownerOf, tokensFor, usageOf, wordOf, wordsIn } from './crowd-agent.ts';
import { drawFrom } from './drawn.ts';
import { overSocket } from './over-socket.ts';
import type { Draw } from './drawn.ts';
import { probes } from './crowd-probes.ts';

export type CrowdOptions = {
  readonly callers: number;
  /** Requests that are waited for; those that are given up come on top. */
  readonly answers: number;
  readonly seed: number;
};

export type CrowdReport = {
  readonly answers: number;
  readonly aborted: number;
  readonly probed: number;
  readonly listed: number;
  /** Runs that were still under way when everybody had gone. */
  readonly left: number;
  readonly problems: readonly string[];
};

/** What everybody knows: the ids of the newest runs, which are no secret. */
type Crowd = {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly known: string[];
  problem(words: string): void;
};

export const runCrowd = async ({ callers, answers, seed }: CrowdOptions): Promise<CrowdReport> => {
  const tokens = tokensFor(callers);
  await using cloister = await openCloister({ agents: [crowdAgent()], store: 'memory' });
  const server = await openServer(cloister, {
    port: 0,
    tokens: tokens.map(({ entry }) => entry),
    places: { running: 500, runningPerAgent: 500, waiting: 2 * callers },
    // Client and server share one thread here: on a busy machine the one may have to wait long for the other.
    limits: { headersTimeoutMs: 300_000, requestTimeoutMs: 300_000, stallMs: 300_000, idleMs: 300_000 },
  });
  const { url } = await server.listen();
  const problems: string[] = [];
  const counts = { answers: 0, aborted: 0, probed: 0, listed: 0 };
  const crowd: Crowd = { fetch: server.fetch, known: [], problem: (words) => void problems.push(words) };
  const farAway: Crowd = { ...crowd, fetch: overSocket };

  const live = async (caller: number): Promise<Visitor> => {
    const draw = drawFrom(seed * 1_000_003 + caller);
    const { token } = tokens[caller]!;
    const visitor = new Visitor(caller, { draw, token, url });
    const share = Math.floor(answers / callers) + (caller < answers % callers ? 1 : 0);
    for (let done = 0; done < share;) {
      if (draw.chance(0.1)) {
        await visitor.giveUp(draw.chance(0.1) ? farAway : crowd);
        counts.aborted += 1;
        continue;
      }
      await visitor.ask(draw.chance(0.02) ? farAway : crowd);
      counts.answers += 1;
      done += 1;
      if (draw.chance(0.1)) counts.probed += await visitor.probe(crowd);
    }
    return visitor;
  };

  const visitors = await Promise.all(Array.from({ length: callers }, (_, caller) => live(caller)));
  const left = await server.stop();
  const kept = await cloister.runs();
  const under = kept.filter(({ state }) => state !== 'ended');
  const byOwner = Map.groupBy(kept, ({ goal }) => ownerOf(wordsIn(goal)[0] ?? ''));
  for (const [caller, visitor] of visitors.entries())
    counts.listed += await visitor.list(
      crowd,
      (byOwner.get(caller) ?? []).map(({ run }) => run),
    );
  return { ...counts, left: left.length + under.length, problems };
};

type Of = { readonly draw: Draw; readonly token: string; readonly url: string };

class Visitor {
  readonly #caller: number;
  readonly #of: Of;
  /** What was said so far in each of its conversations. */
  readonly #conversations = new Map<string, string[]>();
  readonly #runs: string[] = [];
  #asked = 0;

  constructor(caller: number, of: Of) {
    this.#caller = caller;
    this.#of = of;
  }

  async ask(crowd: Crowd): Promise<void> {
    const { draw } = this.#of;
    const kind = draw.of(kinds);
    const said = kind === 'rest' && draw.chance(0.3) ? draw.of(conversationNames) : null;
    const { asking, words } = this.#next(kind, said);
    const request = askedBy(asking);
    const response = await crowd.fetch(request.request);
    const body = await response.text();
    const where = `caller ${this.#caller}, ${kind} ${said ?? ''}, word ${words.at(-1)}`;
    if (response.status !== 200) return crowd.problem(`${where}: ${response.status} ${body.slice(0, 300)}`);

    const { text, usage, run } = request.read(body);
    if (said !== null) this.#conversations.set(said, words);
    const [seen, told] = [new Set(wordsIn(text)), new Set(words)];
    if (seen.size !== told.size || [...seen].some((one) => !told.has(one)))
      crowd.problem(`${where}: it was told ${[...seen].join(' ')}, not ${[...told].join(' ')}`);
    if (wordsIn(body).some((word) => !told.has(word))) crowd.problem(`${where}: a foreign word in ${body}`);
    const { input, output } = usageOf(words.at(-1)!);
    if (usage !== null && (usage[0] !== input || usage[1] !== output))
      crowd.problem(`${where}: it used ${usage.join(', ')}, not ${input}, ${output}`);
    if (run !== null) {
      this.#runs.push(run);
      crowd.known.push(run);
      if (crowd.known.length > 500) crowd.known.shift();
    }
  }

  /** Asks, and goes away at some moment: before it is begun, while it waits, while it is answered, afterwards. */
  async giveUp(crowd: Crowd): Promise<void> {
    const { draw } = this.#of;
    const going = new AbortController();
    const { asking } = this.#next(draw.of(kinds), null);
    const { request } = askedBy({ ...asking, signal: going.signal });
    const answered = crowd
      .fetch(request)
      .then((response) => response.text())
      .catch(() => '');
    for (let turns = draw.below(12); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
    going.abort();
    const own = `s${this.#caller}q`;
    if (wordsIn(await answered).some((word) => !word.startsWith(own)))
      crowd.problem(`caller ${this.#caller} went away and was told another's word`);
  }

  /** Tries to reach what is another's, or never was: there must be no difference. */
  async probe(crowd: Crowd): Promise<number> {
    const { draw, token, url } = this.#of;
    const foreign = crowd.known.filter((run) => !this.#runs.includes(run));
    if (foreign.length === 0) return 0;
    const probe = draw.of(probes);
    const response = await crowd.fetch(probe.request(url, token, draw.of(foreign)));
    const body = await response.text();
    if (response.status !== probe.status || wordsIn(body).length > 0)
      crowd.problem(`caller ${this.#caller}, ${probe.name}: ${response.status} ${body.slice(0, 300)}`);
    return 1;
  }

  /** It is shown its own runs, all of those that are kept, and no others. */
  async list(crowd: Crowd, own: readonly string[]): Promise<number> {
    const { token, url } = this.#of;
    const response = await crowd.fetch(new Request(`${url}/v1/runs?limit=1000`, { headers: headersFor(url, token) }));
    const { runs } = (await response.json()) as { readonly runs: readonly { readonly run: string }[] };
    const shown = runs.map(({ run }) => run);
    if (shown.toSorted().join(' ') !== own.toSorted().join(' '))
      crowd.problem(`caller ${this.#caller} is shown the runs ${shown.join(' ')}, not ${own.join(' ')}`);
    return runs.length;
  }

  #next(kind: Kind, conversation: string | null): { readonly asking: Asking; readonly words: string[] } {
    const { draw, token, url } = this.#of;
    const word = wordOf(this.#caller, this.#asked++);
    const before = conversation === null ? [] : (this.#conversations.get(conversation) ?? []);
    const history = hasHistory.includes(kind) && draw.chance(0.5) ? [wordOf(this.#caller, this.#asked++)] : [];
    return {
      asking: { kind, word, token, url, conversation, history },
      words: [...before, ...history, word],
    };
  }
}

const kinds: readonly Kind[] = ['rest', 'rest-sse', 'openai', 'openai-sse', 'anthropic', 'anthropic-sse', 'mcp'];
const hasHistory: readonly Kind[] = ['rest-sse', 'openai', 'openai-sse', 'anthropic', 'anthropic-sse'];
/** Everybody's. */
const conversationNames = ['main', 'notes'];
