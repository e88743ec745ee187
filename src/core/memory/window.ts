// What a cell's model is shown.
//
//   W1. The view is made of segments only, and a segment only by a named rule over this cell's own records.
//   W2. Every change of the view is recorded with the next attempt; the prompt's hash chains over the changes.
//   W3. SYSTEM and the goal never leave the view.
import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import { sha256, zeroHash } from '#base';
import type { Hash } from '#base';
import type { Attempt, Category, Origin, RuleName, Segment, SegmentRecord, ViewChange } from '#contracts';
import type { Cell } from '#core/cells';
import { resolve } from './resolve.ts';
import { definitionSegments, makeSegment, recordOf } from './segment.ts';
import type { Made } from './segment.ts';

export type Request = { readonly prompt: LanguageModelV4Message[]; readonly tools: LanguageModelV4FunctionTool[] };

export class Window {
  readonly #cell: Cell;
  #view: Segment[];
  #nextId: number;
  #added: SegmentRecord[];
  #changes: ViewChange[] = [];
  #text: string;
  #hash: Hash = zeroHash;
  #bytes: number;

  constructor(cell: Cell) {
    this.#cell = cell;
    const { segments, records, text, bytes } = definitionSegments(cell.agent);
    this.#view = [...segments];
    this.#nextId = segments.length;
    this.#text = text;
    this.#bytes = bytes;
    this.#added = [...records];
  }

  /** Size of all that is in view, in UTF-8 bytes of its JSON. */
  get bytes(): number {
    return this.#bytes;
  }

  get view(): readonly Segment[] {
    return this.#view;
  }

  add(origin: Origin, category: Category): void {
    const { segment, text } = this.#make(origin, category);
    this.#view.push(segment);
    this.#added.push(recordOf(segment));
    this.#text += text;
    this.#bytes += segment.bytes;
  }

  /** Puts one segment in the place of those from `first` to `last`, by position in view. */
  replace(first: number, last: number, origin: Origin, category: Category): void {
    this.#flushAdded();
    const { segment, text } = this.#make(origin, category);
    const gone = this.#view.splice(first, last - first + 1, segment);
    const range = [gone[0]!.id, gone.at(-1)!.id] as const;
    this.#changes.push({ replace: range, by: recordOf(segment) });
    this.#text += `~${range[0]}-${range[1]}${text}`;
    this.#bytes += segment.bytes - sumBytes(gone);
  }

  drop(first: number, last: number, rule: RuleName): void {
    this.#flushAdded();
    const gone = this.#view.splice(first, last - first + 1);
    const range = [gone[0]!.id, gone.at(-1)!.id] as const;
    this.#changes.push({ drop: range, rule });
    this.#text += `-${range[0]}-${range[1]}${rule}`;
    this.#bytes -= sumBytes(gone);
  }

  /** The request as it stands, and what the log keeps of it. */
  render(about: { turn: number; model: string; settings: Hash }): { request: Request; attempt: Attempt } {
    this.#flushAdded();
    const prompt: LanguageModelV4Message[] = [];
    const tools: LanguageModelV4FunctionTool[] = [];
    for (const { part } of this.#view)
      if ('message' in part) prompt.push(part.message);
      else tools.push(part.tool);
    this.#hash = sha256(this.#hash + about.settings + this.#text);
    const changes = this.#changes;
    this.#changes = [];
    this.#text = '';
    return { request: { prompt, tools }, attempt: { ...about, changes, prompt: this.#hash, bytes: this.#bytes } };
  }

  /** Whether a request is exactly what is in view: the same frozen objects, in order, and nothing else. */
  attributes({ prompt, tools }: Request): boolean {
    let messages = 0;
    let schemas = 0;
    for (const { part } of this.#view) {
      if ('message' in part ? part.message !== prompt[messages++] : part.tool !== tools[schemas++]) return false;
    }
    return messages === prompt.length && schemas === tools.length;
  }

  #make(origin: Origin, category: Category): Made {
    const segmentOf = (id: number) => this.#view.find((segment) => segment.id === id);
    const resolved = origin.of.map((source) => resolve(this.#cell, source, segmentOf));
    return makeSegment(this.#nextId++, origin, category, resolved);
  }

  #flushAdded(): void {
    if (this.#added.length === 0) return;
    this.#changes.push({ add: this.#added });
    this.#added = [];
  }
}

const sumBytes = (segments: readonly Segment[]): number => segments.reduce((sum, { bytes }) => sum + bytes, 0);
