// One caller of a crowd: what it asks, and how it checks the answers.
import { usageOf, wordOf, wordsIn } from './crowd-agent.ts';
import { probes } from './crowd-probes.ts';
import { buildProtocolRequest, getRequest, postRequest } from './crowd-requests.ts';
import type { CrowdQuestion, Caller, Kind, ParsedAnswer } from './crowd-requests.ts';
import { askWithTool } from './crowd-tools.ts';
import { visits } from './crowd-visits.ts';
import type { Visit, VisitKind } from './crowd-visits.ts';
import { turns } from './crowd-world.ts';
import type { Crowd } from './crowd-world.ts';
import type { SeededRng } from './seeded-rng.ts';

type Response = { readonly id: string; readonly words: readonly string[] };

export class Visitor {
  readonly #caller: number;
  readonly #of: Caller;
  readonly #rng: SeededRng;
  /** The words so far in each of its conversations. */
  readonly #conversations = new Map<string, string[]>();
  /** Set if its previous request was for a response. */
  #newest: Response | null = null;
  #asked = 0;

  constructor(caller: number, of: Caller, rng: SeededRng) {
    this.#caller = caller;
    this.#of = of;
    this.#rng = rng;
  }

  /** Makes any kind of request; those to `far` go over a socket. */
  async ask(crowd: Crowd, far: Crowd): Promise<void> {
    const rng = this.#rng;
    const kind = rng.of(weightedKinds);
    crowd.count(kind);
    try {
      if (kind in visits) await visits[kind as VisitKind](this.#visit(crowd, kind));
      else await this.#askOnce(rng.chance(0.02) ? far : crowd, kind as Kind);
    } catch (error) {
      crowd.reportProblem(`caller ${this.#caller}, ${kind}: ${String(error)}`);
    }
  }

  async #askOnce(crowd: Crowd, kind: Kind): Promise<void> {
    const rng = this.#rng;
    const conversationWords = kind === 'rest' && rng.chance(0.3) ? rng.of(conversationNames) : null;
    const earlier = kind.startsWith('responses') ? this.#newest : null;
    this.#newest = null;
    const { question, words } = this.#next(kind, conversationWords, earlier);
    const request = buildProtocolRequest(question);
    const response = await crowd.fetch(request.request);
    const body = await response.text();
    if (earlier !== null) {
      // Only the newest runs are kept in memory.
      const isGone = response.status === 404 && (await crowd.isForgotten(earlier.id.slice('resp_'.length)));
      if (isGone) return this.#askOnce(crowd, kind);
      crowd.count('a continued response');
    }
    if (response.status !== 200) throw new Error(`${words.at(-1)}: ${response.status} ${body.slice(0, 300)}`);
    const read = request.read(body);
    if (conversationWords !== null) this.#conversations.set(conversationWords, words);
    if (kind.startsWith('responses')) this.#newest = { id: `resp_${read.run}`, words };
    this.#check(crowd, `${kind} ${conversationWords ?? ''}`, { read, body, words, asked: words.at(-1)! });
  }

  #check(crowd: Crowd, what: string, { read: { text, usage, run }, body, words, asked }: AnswerCheck): void {
    const where = `caller ${this.#caller}, ${what}, word ${words.at(-1)}`;
    const [seen, told] = [new Set(wordsIn(text)), new Set(words)];
    if (seen.size !== told.size || [...seen].some((one) => !told.has(one)))
      crowd.reportProblem(`${where}: it was told ${[...seen].join(' ')}, not ${[...told].join(' ')}`);
    if (wordsIn(body).some((word) => !told.has(word))) crowd.reportProblem(`${where}: a foreign word in ${body}`);
    const { input, output } = usageOf(asked);
    if (usage !== null && (usage[0] !== input || usage[1] !== output))
      crowd.reportProblem(`${where}: it used ${usage.join(', ')}, not ${input}, ${output}`);
    if (run !== null) crowd.runs.add(run, this.#caller);
  }

  #visit(crowd: Crowd, kind: string): Visit {
    return {
      crowd,
      caller: this.#caller,
      of: this.#of,
      rng: this.#rng,
      word: () => wordOf(this.#caller, this.#asked++),
      conversation: (name) => {
        const conversationWords = this.#conversations.get(name) ?? [];
        this.#conversations.set(name, conversationWords);
        return conversationWords;
      },
      check: (what, read, body, words) =>
        this.#check(crowd, `${kind}, ${what}`, { read, body, words, asked: words[0]! }),
    };
  }

  /** Asks, and disconnects at some moment: before the run starts, while it waits, while it is answered, or afterwards. */
  async giveUp(crowd: Crowd): Promise<void> {
    const rng = this.#rng;
    const controller = new AbortController();
    const kind = rng.of(kinds);
    const { question } = this.#next(kind, null, null);
    // With client tools, the run would wait for results.
    const request =
      kind === 'openai' && rng.chance(0.5)
        ? postRequest({ ...this.#of, signal: controller.signal }, '/v1/chat/completions', askWithTool(question.word))
        : buildProtocolRequest({ ...question, signal: controller.signal }).request;
    const answered = crowd
      .fetch(request)
      .then((response) => response.text())
      .catch(() => '');
    await turns(rng.below(12));
    controller.abort();
    const own = `s${this.#caller}q`;
    const body = await answered;
    if (wordsIn(body).some((word) => !word.startsWith(own)))
      crowd.reportProblem(`caller ${this.#caller} went away and was told another's word`);
    const waiting = /"id":"chatcmpl-(?<run>[\da-f]+)_1"/u.exec(body)?.groups?.['run'];
    if (waiting !== undefined) await crowd.fetch(postRequest(this.#of, `/v1/runs/${waiting}/cancel`, {}));
  }

  /** Tries to reach another caller's resource, or one that never existed: there must be no difference. */
  async probe(crowd: Crowd): Promise<number> {
    const { token, url } = this.#of;
    const foreign = crowd.runs.ofAnotherCaller(this.#caller, this.#rng);
    if (foreign === undefined) return 0;
    const probe = this.#rng.of(probes);
    const response = await crowd.fetch(probe.request(url, token, foreign));
    const body = await response.text();
    if (response.status !== probe.status || wordsIn(body).length > 0)
      crowd.reportProblem(`caller ${this.#caller}, ${probe.name}: ${response.status} ${body.slice(0, 300)}`);
    return 1;
  }

  /** The list must contain all of its stored runs and no others. */
  async list(crowd: Crowd, own: readonly string[]): Promise<number> {
    const response = await crowd.fetch(getRequest(this.#of, '/v1/runs?limit=1000'));
    const { runs } = (await response.json()) as { readonly runs: readonly { readonly run: string }[] };
    const shown = runs.map(({ run }) => run);
    if (shown.toSorted().join(' ') !== own.toSorted().join(' '))
      crowd.reportProblem(`caller ${this.#caller} is shown the runs ${shown.join(' ')}, not ${own.join(' ')}`);
    return runs.length;
  }

  #next(kind: Kind, conversation: string | null, previous: Response | null): NextQuestion {
    const word = wordOf(this.#caller, this.#asked++);
    const before = conversation === null ? [] : (this.#conversations.get(conversation) ?? []);
    const history = hasHistory.includes(kind) && this.#rng.chance(0.5) ? [wordOf(this.#caller, this.#asked++)] : [];
    const goesOn = previous === null ? {} : { previous: previous.id };
    return {
      question: { ...this.#of, kind, word, conversation, history, ...goesOn },
      words: [...(previous?.words ?? []), ...before, ...history, word],
    };
  }
}

type AnswerCheck = {
  readonly read: ParsedAnswer;
  readonly body: string;
  readonly words: readonly string[];
  /** The word that determines the expected usage. */
  readonly asked: string;
};

type NextQuestion = { readonly question: CrowdQuestion; readonly words: string[] };

const kinds: readonly Kind[] = [
  'rest',
  'rest-sse',
  'openai',
  'openai-sse',
  'responses',
  'responses-sse',
  'anthropic',
  'anthropic-sse',
  'ag-ui',
  'ui',
  'mcp',
];
const hasHistory: readonly Kind[] = kinds.filter((kind) => kind !== 'rest' && kind !== 'mcp');

/** Interactions of several requests are less frequent: a few per cent of all. */
const weightedKinds: readonly (Kind | VisitKind)[] = [
  ...kinds.flatMap((kind) => Array.from({ length: 10 }, () => kind)),
  ...(['tools', 'tools', 'tools', 'resident', 'resident', 'mcp-sse', 'mcp-sse', 'mcp-ws', 'mcp-ws'] as const),
];

/** The same for all callers. */
const conversationNames = ['main', 'notes'];
