// Records what a process saw in a file outside its workspace, one line per event, as it happens.
//
//   witness-before-effect. A line is written by one system call before anything that depends on its event, so a killed process
//       has recorded everything it saw.
//   witness-opened-first. The file is opened once, before the run, so that no fault meant for the workspace hits it.
import { createHash } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Frame } from '#contracts';

export type RepeatPolicy = 'free' | 'keyed' | 'never';

export type WitnessEvent =
  | { readonly saw: 'start'; readonly does: string; readonly pid: number }
  /** The frame was handed to the store. */
  | {
      readonly saw: 'append';
      readonly run: string;
      readonly no: number;
      readonly sha: string;
      readonly about: FrameAbout;
    }
  /** The store said that this frame and all before it are durable. */
  | { readonly saw: 'ack'; readonly run: string; readonly no: number }
  | { readonly saw: 'kept'; readonly ref: string }
  | { readonly saw: 'model'; readonly agent: string; readonly turn: number }
  | {
      readonly saw: 'effect';
      readonly tool: string;
      readonly repeat: RepeatPolicy;
      readonly key: string;
      readonly what: string;
    }
  | { readonly saw: 'outcome'; readonly status: string; readonly output: string }
  | { readonly saw: 'error'; readonly code: string };

export type WitnessLine = WitnessEvent & { readonly by: number };

/** What identifies a frame, without its contents. */
export type FrameAbout = {
  readonly cell: string;
  readonly type: string;
  readonly op?: number;
  readonly name?: string;
  readonly repeat?: string;
  readonly held?: boolean;
  readonly turn?: number;
  readonly ok?: boolean;
  readonly failure?: string;
};

export type Witness = { record(event: WitnessEvent): void };

/** Next to the workspace; shared by all processes that work on it. */
export const witnessPath = (workspace: string): string => join(dirname(workspace), 'witness.jsonl');

/** After the line `last`, given by its number or its effect, `die` is called, which does not return. */
export const openWitness = (workspace: string, by: number, last = '', die = (): void => undefined): Witness => {
  const file = openSync(witnessPath(workspace), 'a');
  let lines = 0;
  return {
    record(event) {
      writeSync(file, `${JSON.stringify({ by, ...event })}\n`);
      lines += 1;
      if (last === String(lines) || (event.saw === 'effect' && event.what === last)) die();
    },
  };
};

export const shaOf = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex');

export const aboutFrame = ({ cell, record, attempt }: Frame): FrameAbout => {
  switch (record.type) {
    case 'begin': {
      const { op, name, repeat, hold } = record;
      return { cell, type: 'begin', op, name, repeat, held: hold !== undefined, turn: attempt?.turn };
    }
    case 'settle':
      return { cell, type: 'settle', op: record.op, ok: record.ok, failure: record.failure?.code };
    case 'post':
      return { cell, type: 'post', op: record.op, ok: record.ok, failure: record.failure?.code };
    case 'held':
    case 'again':
    case 'ruling':
      return { cell, type: record.type, op: record.op };
    case 'open':
    case 'resume':
    case 'fork':
    case 'give':
    case 'mail':
    case 'delivered':
    case 'cancel':
    case 'close':
      return { cell, type: record.type };
  }
};
