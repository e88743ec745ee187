// What a cell's model is shown.
//
//   W1. The view is made of segments only, and a segment only by a named rule over this cell's own records.
//   W2. Every change of the view is recorded with the next attempt; the prompt's hash chains over the changes.
//   W3. SYSTEM and the goal never leave the view.
import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import { sha256 } from '#base';
import type { Hash } from '#base';
import type { Attempt, Category, Origin, RuleName, Segment, SegmentRecord, ViewChange } from '#contracts';
import type { Cell } from '#core/cells';
import { resolve } from './resolve-source.ts';
import { definitionSegments, makeSegment, recordOf, requestOf } from './segment.ts';
import type { BuiltSegment, ModelRequest } from './segment.ts';

export class ContextWindow {
  readonly #cell: Cell;
  readonly #definition: Segment;
  #view: Segment[];
  /** The same, as the request has it. */
  #prompt: LanguageModelV4Message[];
  #tools: readonly LanguageModelV4FunctionTool[];
  #nextId: number;
  #added: SegmentRecord[];
  #changes: readonly ViewChange[];
  /** The texts of the changes since the last attempt, but for what is being added. */
  #texts: readonly string[] = noTexts;
  #text = '';
  #hash: Hash;
  #bytes: number;
  #chars: number;
  #cuts = 0;
  /** Messages of SYSTEM and CONTEXT that came after the definition's, in view or not. */
  #lasting: readonly Segment[] = noSegments;

  constructor(cell: Cell) {
    this.#cell = cell;
    const { segments, changes, prompt, tools, hash, bytes, chars } = definitionSegments(
      cell.agent,
      cell.runtime.liveRun.startedAt,
    );
    this.#definition = segments[0]!;
    this.#view = [...segments];
    this.#prompt = [...prompt];
    // probe: window-tools
    this.#tools = tools;
    this.#nextId = segments.length;
    this.#bytes = bytes;
    this.#chars = chars;
    this.#changes = changes;
    this.#hash = hash;
    this.#added = [];
  }

  /** Size of all that is in view, in UTF-8 bytes of its JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How often something was taken out of the view. */
  get cuts(): number {
    return this.#cuts;
  }

  get view(): readonly Segment[] {
    return this.#view;
  }

  /**
   * What it holds for good, whether there was room for it or not: how much of it is in view depends on what its model was
   * busy with, and that is nobody else's to know.
   */
  get lasting(): readonly Segment[] {
    return [this.#definition, ...this.#lasting];
  }

  add(origin: Origin, category: Category): void {
    const { segment, text } = this.#make(origin, category);
    if ('message' in segment.part && (category === 'SYSTEM' || category === 'CONTEXT'))
      this.#lasting = appended(this.#lasting as Segment[], segment);
    this.#view = appended(this.#view, segment);
    if ('message' in segment.part) this.#prompt = appended(this.#prompt, segment.part.message);
    else this.#tools = [...this.#tools, segment.part.tool];
    this.#added = appended(this.#added, recordOf(segment));
    this.#text += text;
    this.#bytes += segment.bytes;
    this.#chars += segment.chars;
  }

  /** Puts one segment in the place of those from `first` to `last`, by position in view. */
  replace(first: number, last: number, origin: Origin, category: Category): void {
    this.#flushAdded();
    const { segment, text } = this.#make(origin, category);
    const gone = this.#view.splice(first, last - first + 1, segment);
    const range = [gone[0]!.id, gone.at(-1)!.id] as const;
    this.#changes = [...this.#changes, { replace: range, by: recordOf(segment) }];
    this.#texts = [...this.#texts, `~${range[0]}-${range[1]}${text}`];
    this.#bytes += segment.bytes;
    this.#chars += segment.chars;
    this.#takeOff(gone);
    this.#sort();
  }

  drop(first: number, last: number, rule: RuleName): void {
    this.#flushAdded();
    const gone = this.#view.splice(first, last - first + 1);
    const range = [gone[0]!.id, gone.at(-1)!.id] as const;
    this.#changes = [...this.#changes, { drop: range, rule }];
    this.#texts = [...this.#texts, `-${range[0]}-${range[1]}${rule}`];
    this.#takeOff(gone);
    this.#sort();
  }

  /** The request as it stands, and what the log keeps of it. */
  render(
    turn: number,
    model: string,
    { settings, window }: Pick<Attempt, 'settings' | 'window'>,
  ): { request: ModelRequest; attempt: Attempt } {
    this.#flushAdded();
    this.#hash = promptHash(this.#hash, `${settings}${window.tokens}${window.by}`, this.#texts);
    const changes = this.#changes;
    this.#changes = noChanges;
    this.#texts = noTexts;
    return {
      request: { prompt: this.#prompt.slice(), tools: this.#tools.slice() },
      attempt: { turn, model, settings, changes, prompt: this.#hash, bytes: this.#bytes, chars: this.#chars, window },
    };
  }

  /** Whether a request is exactly what is in view: the same frozen objects, in order, and nothing else. */
  attributes({ prompt, tools }: ModelRequest): boolean {
    return sameItems(prompt, this.#prompt) && sameItems(tools, this.#tools);
  }

  #takeOff(gone: readonly Segment[]): void {
    for (const { bytes, chars } of gone) {
      this.#bytes -= bytes;
      this.#chars -= chars;
    }
  }

  #sort(): void {
    this.#cuts++;
    const { prompt, tools } = requestOf(this.#view);
    this.#prompt = prompt;
    this.#tools = tools;
  }

  #make(origin: Origin, category: Category): BuiltSegment {
    const segmentOf = finderIn(this.#view, origin.of.length);
    const resolved = origin.of.map((source) => resolve(this.#cell, source, segmentOf));
    return makeSegment(this.#nextId++, origin, category, resolved);
  }

  #flushAdded(): void {
    if (this.#added.length === 0) return;
    this.#changes = this.#changes.length === 0 ? [{ add: this.#added }] : [...this.#changes, { add: this.#added }];
    this.#texts = this.#texts.length === 0 ? [this.#text] : [...this.#texts, this.#text];
    this.#added = [];
    this.#text = '';
  }
}

/** By number. Few are looked for one by one, many by a table. */
const finderIn = (view: readonly Segment[], many: number): ((id: number) => Segment | undefined) => {
  if (many < 8) return (id) => view.find((segment) => segment.id === id);
  const byId = new Map(view.map((segment) => [segment.id, segment]));
  return (id) => byId.get(id);
};

/** One link per change; the last one, which may be empty, takes in the settings and the window's limit. */
const promptHash = (previous: Hash, settings: string, texts: readonly string[]): Hash => {
  let hash = previous;
  for (let index = 0; index < texts.length - 1; index++) hash = sha256(hash + texts[index]!);
  return sha256(hash + settings + (texts.at(-1) ?? ''));
};

const noTexts: readonly string[] = [];

/** A short array is made anew, without the room that `push` would leave for more: most sessions stay short. */
const appended = <T>(items: T[], item: T): T[] => {
  if (items.length < 8) return [...items, item];
  items.push(item);
  return items;
};

const noChanges: readonly ViewChange[] = [];
const noSegments: readonly Segment[] = [];

const sameItems = (some: readonly unknown[], others: readonly unknown[]): boolean =>
  some.length === others.length && some.every((item, index) => item === others[index]);
