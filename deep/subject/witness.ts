// What a process saw, told to a file outside its workspace, one line each, as it happens.
//
//   T1. A line is written by one system call before anything that follows from what it tells: a killed process has told
//       all that it saw.
//   T2. The file is opened once, before the run: no fault that is meant for the workspace hits it.
import { createHash } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Frame } from '#contracts';

export type Repeating = 'free' | 'keyed' | 'never';

export type Told =
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
      readonly repeat: Repeating;
      readonly key: string;
      readonly what: string;
    }
  | { readonly saw: 'outcome'; readonly status: string; readonly output: string }
  | { readonly saw: 'error'; readonly code: string };

export type Line = Told & { readonly by: number };

/** What is needed to tell what a frame is about, without its contents. */
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

export type Witness = { tell(told: Told): void };

/** Beside the workspace, for each process that works on it. */
export const witnessPath = (workspace: string): string => join(dirname(workspace), 'witness.jsonl');

/** `last`: the line after which `die` is called, which does not come back: how many there are, or the effect it tells. */
export const openWitness = (workspace: string, by: number, last = '', die = (): void => undefined): Witness => {
  const file = openSync(witnessPath(workspace), 'a');
  let lines = 0;
  return {
    tell(told) {
      writeSync(file, `${JSON.stringify({ by, ...told })}\n`);
      lines += 1;
      if (last === String(lines) || (told.saw === 'effect' && told.what === last)) die();
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
    case 'again':
      return { cell, type: 'again', op: record.op };
    case 'open':
    case 'resume':
    case 'fork':
    case 'give':
    case 'mail':
    case 'cancel':
    case 'close':
      return { cell, type: record.type };
  }
};
