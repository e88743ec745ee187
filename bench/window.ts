// Adding a message to a window with many messages should cost the same as to a window with few.
import { defineAgent } from 'cloister';
import { recordFormats, sha256 } from '#base';
import type { Json } from '#base';
import type { ReplyPart, Settlement } from '#contracts';
import type { Cell } from '#core/memory';
import { fitWindow, ContextWindow } from '#core/memory';
import type { Benchmark } from './benchmark.ts';
import { compare, wallMs } from './measure.ts';

const [few, many] = [20, 2_000];
/** Windows per sample, and messages added to each. Few messages, or a small window would not stay small. */
const [windowsPerSample, messagesAdded] = [40, 10];
const rooms = { tokens: 100_000_000, tokensPerByte: 0.25 };
const agent = defineAgent({ name: 'solo', description: 'Works.', prompt: 'You work.' });

/** Builds a window with `messages` messages and returns a function that adds one more as a turn does: a message, then a request. */
const createWindow = (messages: number) => {
  const journal = new Map<number, Settlement<Json>>();
  const runtime = {
    runStartedAt: 0,
    format: recordFormats.newest,
    received: { at: () => ({ kind: 'goal', content: 'Go on.' }) },
  };
  const cell = { agent, runtime, settled: (no: number) => journal.get(no) } as unknown as Cell;
  const window = new ContextWindow(cell);
  window.add({ rule: 'goal@1', of: [{ from: 'crossing', seq: 0 }] }, 'DIALOG');
  let no = 0;
  const add = (): void => {
    const parts: ReplyPart[] = [{ type: 'text', text: `Step ${no} of many, with some words about it.` }];
    journal.set(no, { at: 0, ok: true, value: { parts, finish: 'stop', usage: null } as unknown as Json });
    window.add({ rule: 'reply@1', of: [{ from: 'reply', no: no++, part: 0 }] }, 'DIALOG');
    fitWindow(window, rooms);
  };
  for (let one = 0; one < messages; one++) add();
  window.render(1, 'model', {
    settings: sha256(''),
    window: { tokens: rooms.tokens, by: 'given' },
    reply: { tokens: 1 },
  });
  return add;
};

const timeAdding = async (messages: number): Promise<number> => {
  const adding = Array.from({ length: windowsPerSample }, () => createWindow(messages));
  return wallMs(async () => {
    for (const add of adding) for (let one = 0; one < messagesAdded; one++) add();
  });
};

export const windowBenchmark: Benchmark = {
  name: 'window',
  about: `adding one message to a window of ${many} messages against one of ${few}`,
  async run() {
    const { raw, cloister, ratio } = await compare(
      { warm: 5, measured: 31 },
      { raw: () => timeAdding(few), cloister: () => timeAdding(many) },
    );
    const us = 1_000 / (messagesAdded * windowsPerSample);
    return [
      {
        what: `one more message, raw = a window of ${few} messages`,
        unit: 'µs',
        raw: raw * us,
        cloister: cloister * us,
        figure: ratio,
        figureUnit: '×',
        target: { atMost: 2 },
      },
    ];
  },
};
