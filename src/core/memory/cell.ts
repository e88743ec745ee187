// What one session owns: the records, outputs and files of its cell. Of the rest of the run it sees only the cell's port.
import { utf8Bytes } from '#base';
import type { CellId, Json, RunId } from '#base';
import { decodeInheritedFiles } from '#contracts';
import type { Agent, CellPort, InheritedFiles, Settlement, ToolResultValue, CellFolder, CellFolders } from '#contracts';
import { resolveLimits } from '#core/registry';
import type { CellLimits } from '#core/registry';
import { inheritedFolder } from './inherited-folder.ts';

/** An output the cell can read back by name: stored bytes, or a crossing's text. `framed`: the bytes are such a text too. */
type StoredOutputRef = { readonly ref: string; readonly framed?: true } | { readonly text: string };

/** Where a cell's files are, and what the turn before left to it. */
type CellWorld = { readonly workspaces: CellFolders; readBlob(ref: string): Promise<Uint8Array> };

export class Cell {
  readonly runtime: CellPort;
  readonly limits: CellLimits;
  readonly #run: RunId;
  readonly #world: CellWorld;
  #workspace: CellFolder | undefined;

  #journal: Map<number, Settlement<Json>> | undefined;
  #steps = 0;
  #uncalledSteps = 0;
  #journalBytes = 0;
  #outputCounts: Map<string, number> | undefined;
  #outputs: Map<string, StoredOutputRef> | undefined;
  #files: Map<string, number> | undefined;

  constructor(runtime: CellPort, run: RunId, world: CellWorld) {
    this.runtime = runtime;
    this.limits = limitsOf(runtime.agent, runtime.parent === null);
    this.#run = run;
    this.#world = world;
  }

  get parent(): CellId | null {
    return this.runtime.parent;
  }

  get agent(): Agent {
    return this.runtime.agent;
  }

  get workspace(): CellFolder {
    return (this.#workspace ??= this.#openWorkspace());
  }

  #openWorkspace(): CellFolder {
    const own = this.#world.workspaces.open(this.#run, /* probe: workspace-cell */ this.runtime.cellId);
    const { files } = this.#inherited;
    return files.length === 0 ? own : inheritedFolder(own, files, (ref) => this.#world.readBlob(ref));
  }

  /** What its agent's turn before, in the same conversation, left to it. */
  get #inherited(): Pick<InheritedFiles, 'files' | 'outputs'> {
    // probe: inherited-crossing
    const crossed = this.runtime.received.addedContext('at creation').find(({ kind }) => kind === 'file');
    return crossed === undefined ? nothingInherited : decodeInheritedFiles(crossed.content);
  }

  /** How many bytes of one result are shown. */
  get shownBytesMax(): number {
    return shownBytesMax(this.limits);
  }

  /** Stores one of the cell's settled operations. */
  record(no: number, settled: Settlement<Json>): void {
    (this.#journal ??= new Map()).set(no, settled);
    if (this.runtime.tracksMemory) this.#journalBytes += settlementBytes(settled);
  }

  /** The size of its settled operations, including their outputs. */
  get journalBytes(): number {
    return this.#journalBytes;
  }

  settled(no: number): Settlement<Json> | undefined {
    return this.#journal?.get(no);
  }

  /** A resident runs until it is shut down. */
  get isResident(): boolean {
    return this.runtime.spawned !== null;
  }

  /** Its tool calls so far. Agents that the runtime started for it are not counted. */
  get steps(): number {
    // probe: cell-steps
    return this.#steps;
  }

  nextStepNumber(): number {
    // probe: cell-count-step
    return ++this.#steps + this.#uncalledSteps + this.runtime.outsideSpawns;
  }

  /** The number of a step that no tool call asks for: an agent that the runtime, or somebody outside, starts. */
  get nextUncalledStep(): number {
    return this.#steps + this.#uncalledSteps + this.runtime.outsideSpawns + 1;
  }

  /** Call when the runtime has started one; those from outside count by themselves. */
  countUncalledStep(): void {
    this.#uncalledSteps++;
  }

  /** Numbers the outputs of one tool; the number is part of the output's name. */
  nextOutputNumber(tool: string): number {
    const counts = (this.#outputCounts ??= /* probe: output-counts */ countOutputs(this.#inherited.outputs));
    // probe: cell-count-output
    const nth = (counts.get(tool) ?? 0) + 1;
    counts.set(tool, nth);
    return nth;
  }

  storeOutput(name: string, readable: StoredOutputRef): void {
    (this.#outputs ??= this.#inheritedOutputs()).set(name, readable);
  }

  output(name: string): StoredOutputRef | undefined {
    return (this.#outputs ??= this.#inheritedOutputs()).get(name);
  }

  #inheritedOutputs(): Map<string, StoredOutputRef> {
    const { outputs } = this.#inherited;
    return new Map(outputs.map(({ name, sha256: ref, framed }) => [name, framed === true ? { ref, framed } : { ref }]));
  }

  /** The limit that writing this file would exceed, if any. Otherwise counts the file; `undo` takes that back. */
  countFile(path: string, bytes: number): 'max_output_files' | 'max_output_size_bytes' | { undo(): void } {
    const files = (this.#files ??= new Map());
    const before = files.get(path);
    if (before === undefined && files.size >= this.limits.max_output_files) return 'max_output_files';
    let total = bytes - (before ?? 0);
    for (const size of files.values()) total += size;
    if (total > this.limits.max_output_size_bytes) return 'max_output_size_bytes';
    // probe: cell-count-file
    files.set(path, bytes);
    return { undo: () => void (before === undefined ? files.delete(path) : files.set(path, before)) };
  }
}

const nothingInherited: Pick<InheritedFiles, 'files' | 'outputs'> = { files: [], outputs: [] };

/** The highest number of each tool's outputs. `outputName` in `core/rules`, which this folder cannot import, makes the names. */
const countOutputs = (outputs: InheritedFiles['outputs']): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { name } of outputs) {
    const { tool = '', nth = '0' } = /^(?<tool>.+)_(?<nth>\d{3,})\.[a-z]+$/u.exec(name)?.groups ?? {};
    counts.set(tool, Math.max(counts.get(tool) ?? 0, Number(nth)));
  }
  return counts;
};

/** The stored settlement, plus its offloaded output. */
const settlementBytes = (settled: Settlement<Json>): number => {
  const value = settled.ok ? (settled.value as Partial<ToolResultValue> | null) : null;
  return utf8Bytes(JSON.stringify(settled)) + (value?.output?.bytes ?? 0);
};

/** Resolved once for each agent: all of its cells share them. */
const limitsOf = (agent: Agent, isRoot: boolean): CellLimits => {
  const cache = isRoot ? rootCache : childCache;
  let limits = cache.get(agent);
  if (limits === undefined) {
    limits = Object.freeze(resolveLimits(agent.caps.limits, isRoot));
    cache.set(agent, limits);
  }
  return limits;
};

const rootCache = new WeakMap<Agent, CellLimits>();
const childCache = new WeakMap<Agent, CellLimits>();

/** How many bytes of one result are shown: four bytes per token. */
export const shownBytesMax = (limits: CellLimits): number => limits.max_tokens_per_step * 4;
