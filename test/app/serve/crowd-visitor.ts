// One caller of a crowd: what it asks, and what it makes of what it is told.
import { usageOf, wordOf, wordsIn } from './crowd-agent.ts';
import { probes } from './crowd-probes.ts';
import { askedBy, got, posted } from './crowd-requests.ts';
import type { Asking, Caller, Kind, Read } from './crowd-requests.ts';
import { askWithTool } from './crowd-tools.ts';
import { visits } from './crowd-visits.ts';
import type { Visit, VisitKind } from './crowd-visits.ts';
import { turns } from './crowd-world.ts';
import type { Crowd } from './crowd-world.ts';
import type { Draw } from './drawn.ts';

type Response = { readonly id: string; readonly words: readonly string[] };

export class Visitor {
  readonly #caller: number;
  readonly #of: Caller;
  readonly #draw: Draw;
  /** What was said so far in each of its conversations. */
  readonly #conversations = new Map<string, string[]>();
  /** If that was what it asked last. */
  #newest: Response | null = null;
  #asked = 0;

  constructor(caller: number, of: Caller, draw: Draw) {
    this.#caller = caller;
    this.#of = of;
    this.#draw = draw;
  }

  /** In any way. Of `far`, over a socket. */
  async ask(crowd: Crowd, far: Crowd): Promise<void> {
    const draw = this.#draw;
    const kind = draw.of(often);
    crowd.happened(kind);
    try {
      if (kind in visits) await visits[kind as VisitKind](this.#visit(crowd, kind));
      else await this.#askOnce(draw.chance(0.02) ? far : crowd, kind as Kind);
    } catch (error) {
      crowd.problem(`caller ${this.#caller}, ${kind}: ${String(error)}`);
    }
  }

  async #askOnce(crowd: Crowd, kind: Kind): Promise<void> {
    const draw = this.#draw;
    const said = kind === 'rest' && draw.chance(0.3) ? draw.of(conversationNames) : null;
    const earlier = kind.startsWith('responses') ? this.#newest : null;
    this.#newest = null;
    const { asking, words } = this.#next(kind, said, earlier);
    const request = askedBy(asking);
    const response = await crowd.fetch(request.request);
    const body = await response.text();
    if (earlier !== null) {
      // The memory holds the newest runs alone.
      const isGone = response.status === 404 && (await crowd.isForgotten(earlier.id.slice('resp_'.length)));
      if (isGone) return this.#askOnce(crowd, kind);
      crowd.happened('a response that goes on');
    }
    if (response.status !== 200) throw new Error(`${words.at(-1)}: ${response.status} ${body.slice(0, 300)}`);
    const read = request.read(body);
    if (said !== null) this.#conversations.set(said, words);
    if (kind.startsWith('responses')) this.#newest = { id: `resp_${read.run}`, words };
    this.#check(crowd, `${kind} ${said ?? ''}`, { read, body, words, asked: words.at(-1)! });
  }

  #check(crowd: Crowd, what: string, { read: { text, usage, run }, body, words, asked }: Told): void {
    const where = `caller ${this.#caller}, ${what}, word ${words.at(-1)}`;
    const [seen, told] = [new Set(wordsIn(text)), new Set(words)];
    if (seen.size !== told.size || [...seen].some((one) => !told.has(one)))
      crowd.problem(`${where}: it was told ${[...seen].join(' ')}, not ${[...told].join(' ')}`);
    if (wordsIn(body).some((word) => !told.has(word))) crowd.problem(`${where}: a foreign word in ${body}`);
    const { input, output } = usageOf(asked);
    if (usage !== null && (usage[0] !== input || usage[1] !== output))
      crowd.problem(`${where}: it used ${usage.join(', ')}, not ${input}, ${output}`);
    if (run !== null) crowd.runs.add(run, this.#caller);
  }

  #visit(crowd: Crowd, kind: string): Visit {
    return {
      crowd,
      caller: this.#caller,
      of: this.#of,
      draw: this.#draw,
      word: () => wordOf(this.#caller, this.#asked++),
      conversation: (name) => {
        const said = this.#conversations.get(name) ?? [];
        this.#conversations.set(name, said);
        return said;
      },
      check: (what, read, body, words) =>
        this.#check(crowd, `${kind}, ${what}`, { read, body, words, asked: words[0]! }),
    };
  }

  /** Asks, and goes away at some moment: before it is begun, while it waits, while it is answered, afterwards. */
  async giveUp(crowd: Crowd): Promise<void> {
    const draw = this.#draw;
    const going = new AbortController();
    const kind = draw.of(kinds);
    const { asking } = this.#next(kind, null, null);
    // Of those with tools, the run would wait for results.
    const request =
      kind === 'openai' && draw.chance(0.5)
        ? posted({ ...this.#of, signal: going.signal }, '/v1/chat/completions', askWithTool(asking.word))
        : askedBy({ ...asking, signal: going.signal }).request;
    const answered = crowd
      .fetch(request)
      .then((response) => response.text())
      .catch(() => '');
    await turns(draw.below(12));
    going.abort();
    const own = `s${this.#caller}q`;
    const body = await answered;
    if (wordsIn(body).some((word) => !word.startsWith(own)))
      crowd.problem(`caller ${this.#caller} went away and was told another's word`);
    const waiting = /"id":"chatcmpl-(?<run>[\da-f]+)_1"/u.exec(body)?.groups?.['run'];
    if (waiting !== undefined) await crowd.fetch(posted(this.#of, `/v1/runs/${waiting}/cancel`, {}));
  }

  /** Tries to reach what is another's, or never was: there must be no difference. */
  async probe(crowd: Crowd): Promise<number> {
    const { token, url } = this.#of;
    const foreign = crowd.runs.notOf(this.#caller, this.#draw);
    if (foreign === undefined) return 0;
    const probe = this.#draw.of(probes);
    const response = await crowd.fetch(probe.request(url, token, foreign));
    const body = await response.text();
    if (response.status !== probe.status || wordsIn(body).length > 0)
      crowd.problem(`caller ${this.#caller}, ${probe.name}: ${response.status} ${body.slice(0, 300)}`);
    return 1;
  }

  /** It is shown its own runs, all of those that are kept, and no others. */
  async list(crowd: Crowd, own: readonly string[]): Promise<number> {
    const response = await crowd.fetch(got(this.#of, '/v1/runs?limit=1000'));
    const { runs } = (await response.json()) as { readonly runs: readonly { readonly run: string }[] };
    const shown = runs.map(({ run }) => run);
    if (shown.toSorted().join(' ') !== own.toSorted().join(' '))
      crowd.problem(`caller ${this.#caller} is shown the runs ${shown.join(' ')}, not ${own.join(' ')}`);
    return runs.length;
  }

  #next(kind: Kind, conversation: string | null, previous: Response | null): Next {
    const word = wordOf(this.#caller, this.#asked++);
    const before = conversation === null ? [] : (this.#conversations.get(conversation) ?? []);
    const history = hasHistory.includes(kind) && this.#draw.chance(0.5) ? [wordOf(this.#caller, this.#asked++)] : [];
    const goesOn = previous === null ? {} : { previous: previous.id };
    return {
      asking: { ...this.#of, kind, word, conversation, history, ...goesOn },
      words: [...(previous?.words ?? []), ...before, ...history, word],
    };
  }
}

type Told = {
  readonly read: Read;
  readonly body: string;
  readonly words: readonly string[];
  /** What it uses is told by this one. */
  readonly asked: string;
};

type Next = { readonly asking: Asking; readonly words: string[] };

const kinds: readonly Kind[] = [
  'rest',
  'rest-sse',
  'openai',
  'openai-sse',
  'responses',
  'responses-sse',
  'anthropic',
  'anthropic-sse',
  'mcp',
];
const hasHistory: readonly Kind[] = kinds.filter((kind) => kind !== 'rest' && kind !== 'mcp');

/** What takes several requests comes less often: some per cent of all. */
const often: readonly (Kind | VisitKind)[] = [
  ...kinds.flatMap((kind) => Array.from({ length: 10 }, () => kind)),
  ...(['tools', 'tools', 'tools', 'resident', 'resident', 'mcp-sse', 'mcp-sse', 'mcp-ws', 'mcp-ws'] as const),
];

/** Everybody's. */
const conversationNames = ['main', 'notes'];
