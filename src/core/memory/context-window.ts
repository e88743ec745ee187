// The content that a cell's model is shown.
//
//   window-of-segments. The view consists only of segments, and a segment is made only by a named rule from this cell's own
//       records.
//   window-changes-recorded. Every change of the view is recorded with the next attempt; the prompt hash is a chain over the
//       changes.
//   window-keeps-goal. SYSTEM and the goal never leave the view.
import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import { sha256 } from '#base';
import type { Hash } from '#base';
import type { Attempt, Category, Origin, RuleName, Segment, SegmentRecord, ViewChange } from '#contracts';
import { fileReferences, isMadeBy, ruleInFormat } from '#core/rules';
import type { FileReference } from '#core/rules';
import type { Cell } from './cell.ts';
import { compareRequest, nothingCompared } from './compare-request.ts';
import { resolveSource } from './resolve-source.ts';
import { definitionSegments, makeSegment, segmentRecord, buildRequest } from './segment.ts';
import type { BuiltSegment, ModelRequest } from './segment.ts';

export class ContextWindow {
  readonly #cell: Cell;
  #view: Segment[];
  /** The messages of the view, as they go into the request. After a cut they are out of date until `#updateRequest`. */
  #prompt: LanguageModelV4Message[];
  #tools: readonly LanguageModelV4FunctionTool[];
  #nextId: number;
  #added: SegmentRecord[];
  #changes: readonly ViewChange[];
  /** The canonical texts of the changes since the last attempt, without the additions collected in `#text`. */
  #texts: readonly string[] = noTexts;
  #text = '';
  #hash: Hash;
  #bytes: number;
  #chars: number;
  #tokens: number;
  #cuts = 0;
  #isCut = false;
  #compared = nothingCompared;
  #files: readonly FileReference[] = noFiles;
  #context: readonly Segment[] = noSegments;

  constructor(cell: Cell) {
    this.#cell = cell;
    const { segments, changes, prompt, tools, hash, bytes, chars, tokens } = definitionSegments(
      cell.agent,
      cell.runtime,
    );
    this.#view = [...segments];
    this.#prompt = [...prompt];
    // probe: window-tools
    this.#tools = tools;
    this.#nextId = segments.length;
    this.#bytes = bytes;
    this.#chars = chars;
    this.#tokens = tokens;
    this.#changes = changes;
    this.#hash = hash;
    this.#added = [];
  }

  /** Size of the view, in UTF-8 bytes of its JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The estimate that holds are computed from. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The files that the view refers to. */
  get files(): readonly FileReference[] {
    this.#updateRequest();
    return this.#files;
  }

  /** How often something was removed from the view. */
  get cuts(): number {
    return this.#cuts;
  }

  /** Whether the request offers tools. */
  get hasTools(): boolean {
    this.#updateRequest();
    return this.#tools.length > 0;
  }

  get view(): readonly Segment[] {
    return this.#view;
  }

  /**
   * All CONTEXT messages, whether there was room for them or not. How much of them is in view depends on what the model was
   * working on, and no other cell may learn that.
   */
  get context(): readonly Segment[] {
    return this.#context;
  }

  add(origin: Origin, category: Category): void {
    this.#updateRequest();
    const { segment, text } = this.#make(origin, category);
    if (category === 'CONTEXT') this.#context = append(this.#context as Segment[], segment);
    this.#view = append(this.#view, segment);
    if ('message' in segment.part) this.#prompt = append(this.#prompt, segment.part.message);
    else this.#tools = [...this.#tools, segment.part.tool];
    this.#added = append(this.#added, segmentRecord(segment));
    this.#text += text;
    if (isMadeBy(segment.origin.rule, 'attachment')) this.#files = [...this.#files, ...fileReferences(segment.part)];
    this.#addSizes(segment);
  }

  /** Replaces the segments at positions `first` to `last` of the view by one segment. */
  replace(first: number, last: number, origin: Origin, category: Category): void {
    this.#flushAdded();
    const { segment, text } = this.#make(origin, category, this.#view.slice(first, last + 1));
    const removed = this.#view.splice(first, last - first + 1, segment);
    const range = [removed[0]!.id, removed.at(-1)!.id] as const;
    this.#changes = [...this.#changes, { replace: range, by: segmentRecord(segment) }];
    this.#texts = [...this.#texts, `~${range[0]}-${range[1]}${text}`];
    this.#addSizes(segment);
    this.#subtractSizes(removed);
    this.#noteCut();
  }

  drop(first: number, last: number, given: RuleName): void {
    const rule = ruleInFormat(given, this.#cell.runtime.format);
    this.#flushAdded();
    const removed = this.#view.splice(first, last - first + 1);
    const range = [removed[0]!.id, removed.at(-1)!.id] as const;
    this.#changes = [...this.#changes, { drop: range, rule }];
    this.#texts = [...this.#texts, `-${range[0]}-${range[1]}${rule}`];
    this.#subtractSizes(removed);
    this.#noteCut();
  }

  /** The current request, and the attempt that the log keeps of it. */
  render(
    turn: number,
    model: string,
    { settings, window, ...rest }: Pick<Attempt, 'settings' | 'window' | 'reply' | 'schemaBytes'>,
  ): { request: ModelRequest; attempt: Attempt } {
    this.#flushAdded();
    this.#updateRequest();
    this.#hash = promptHash(this.#hash, `${settings}${window.tokens}${window.by}`, this.#texts);
    const changes = this.#changes;
    this.#changes = noChanges;
    this.#texts = noTexts;
    return {
      request: { prompt: this.#prompt.slice(), tools: this.#tools.slice() },
      attempt: {
        turn,
        model,
        settings,
        changes,
        prompt: this.#hash,
        bytes: this.#bytes,
        chars: this.#chars,
        tokens: this.#tokens,
        window,
        ...rest,
      },
    };
  }

  /** Whether a request that was rendered is exactly the view, and its attempt records it: the same frozen objects, in order, and nothing else. */
  matchesRequest(request: ModelRequest, { changes }: Pick<Attempt, 'changes'>): boolean {
    const compared = compareRequest(request, { view: this.#view, changes }, this.#compared);
    this.#compared = compared ?? nothingCompared;
    return compared !== null;
  }

  #addSizes({ bytes, chars, tokens }: Pick<Segment, 'bytes' | 'chars' | 'tokens'>): void {
    this.#bytes += bytes;
    this.#chars += chars;
    this.#tokens += tokens;
  }

  #subtractSizes(removed: readonly Segment[]): void {
    for (const { bytes, chars, tokens } of removed) this.#addSizes({ bytes: -bytes, chars: -chars, tokens: -tokens });
  }

  #noteCut(): void {
    this.#cuts++;
    this.#isCut = true;
  }

  /** Once for all that was removed since it was last needed. */
  #updateRequest(): void {
    if (!this.#isCut) return;
    this.#isCut = false;
    const { prompt, tools } = buildRequest(this.#view);
    this.#prompt = prompt;
    this.#tools = tools;
    if (this.#files.length > 0) this.#files = this.#view.flatMap(({ part }) => fileReferences(part));
  }

  /** `among`: the segments that it may be made from. */
  #make(given: Origin, category: Category, among: readonly Segment[] = noSegments): BuiltSegment {
    const { format } = this.#cell.runtime;
    const rule = ruleInFormat(given.rule, format);
    const origin = rule === given.rule ? given : { ...given, rule };
    const findSegment = segmentFinder(among, origin.of.length);
    const resolved = origin.of.map((source) => resolveSource(this.#cell, source, findSegment));
    return makeSegment({ id: this.#nextId++, origin, category }, resolved, format);
  }

  #flushAdded(): void {
    if (this.#added.length === 0) return;
    this.#changes = this.#changes.length === 0 ? [{ add: this.#added }] : [...this.#changes, { add: this.#added }];
    this.#texts = this.#texts.length === 0 ? [this.#text] : [...this.#texts, this.#text];
    this.#added = [];
    this.#text = '';
  }
}

/** Finds segments by id: by scanning for a few lookups, with a map for many. */
const segmentFinder = (among: readonly Segment[], count: number): ((id: number) => Segment | undefined) => {
  if (count < 8 || among.length === 0) return (id) => among.find((segment) => segment.id === id);
  const byId = new Map(among.map((segment) => [segment.id, segment]));
  return (id) => byId.get(id);
};

/** One link per change; the last one, which may be empty, also covers the settings and the window limit. */
const promptHash = (previous: Hash, settings: string, texts: readonly string[]): Hash => {
  let hash = previous;
  for (let index = 0; index < texts.length - 1; index++) hash = sha256(hash + texts[index]!);
  return sha256(hash + settings + (texts.at(-1) ?? ''));
};

const noTexts: readonly string[] = [];

/** Copies a short array, because `push` would reserve spare capacity and most sessions stay short. */
const append = <T>(items: T[], item: T): T[] => {
  if (items.length < 8) return [...items, item];
  items.push(item);
  return items;
};

const noChanges: readonly ViewChange[] = [];
const noSegments: readonly Segment[] = [];
const noFiles: readonly FileReference[] = [];
