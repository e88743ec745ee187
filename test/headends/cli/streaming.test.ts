import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stripVTControlCharacters } from 'node:util';
import { defineAgent, openCloister } from 'cloister';
import type { RunEvent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { ScriptLine } from 'cloister/testkit';
import { width } from '../../../src/headends/cli/shared/sanitize-text.ts';
import { testRuns } from '../../test-seed.ts';
import { openAnswerView } from '../../../src/headends/cli/shared/answer-view.ts';
import { openOutput } from '../../../src/headends/cli/shared/output.ts';
import { cli, emulate, leadId, runId, startCli } from './driver.ts';
import type { Terminal } from './driver.ts';

const clerk = () =>
  defineAgent({
    name: 'clerk',
    description: 'Looks up.',
    prompt: 'p',
    models: [rehearse([{ reply: 'CLERK says so.' }])],
  });
const lead = (script: readonly ScriptLine[]) =>
  defineAgent({ name: 'lead', description: 'Leads.', prompt: 'p', agents: [clerk()], models: [rehearse(script)] });
const run = (
  script: readonly ScriptLine[],
  { args = [], terminal }: { args?: readonly string[]; terminal?: Terminal } = {},
) =>
  cli(['run', 'lead', 'x', ...args], undefined, {
    ...(terminal && { terminal }),
    behaviour: { opens: () => openCloister({ agents: [lead(script)] }) },
  });

const answer = '## Result\n\n- **one** thing\n- other thing';
const asks: ScriptLine = {
  when: { turn: 1 },
  reply: { text: 'Let me ask.', calls: [1, 2].map(() => ({ tool: 'clerk', args: { prompt: 'Look.' } })) },
};
const breaks: ScriptLine = {
  when: { turn: 2 },
  times: 1,
  reply: { text: 'The answer is not this one.', fault: 'cut' },
};
const answers: ScriptLine = { reply: answer };

/** What is on the screen above the summary. */
const answerOn = (screen: string, columns: number): readonly string[] => {
  const { lines, cursorVisible } = emulate(screen, columns);
  expect(cursorVisible).toBe(true);
  return lines.slice(0, lines.indexOf('Summary') - 1);
};

describe('on a terminal', () => {
  // invariants: answer-shown-once, answer-others-marked
  test('text before a call and text that was taken back are marked, and the answer is last', async () => {
    const { screen } = await run([asks, breaks, answers], { terminal: { tty: true, colour: true } });
    const lines = answerOn(screen, 80);
    expect(lines.slice(0, 3)).toEqual(['Let me ask.', '(said before calling clerk and 1 more)', '']);
    expect(lines[3]).toMatch(/^The answer/u);
    expect(lines.slice(4)).toEqual([
      '(taken back: the model was asked again)',
      '',
      'Result',
      '',
      '• one thing',
      '• other thing',
    ]);
    expect(screen).not.toContain('CLERK');
    expect(screen.split('Summary')).toHaveLength(2);
  });

  test('--plain and NO_COLOR keep the marks of Markdown', async () => {
    for (const given of [{ args: ['--plain'], terminal: { tty: true, colour: true } }, { terminal: { tty: true } }]) {
      const { screen } = await run([answers], given);
      expect(answerOn(screen, 80).join('\n')).toBe(answer);
    }
  });

  test('with --verbose, lines of events do not tear the text', async () => {
    const { screen } = await run([asks, answers], { args: ['--verbose'], terminal: { tty: true } });
    const { lines } = emulate(screen, 80);
    expect(lines).toEqual(
      expect.arrayContaining(['Let me ask.', '(said before calling clerk and 1 more)', ...answer.split('\n')]),
    );
  });

  test('the text grows while it is written, above the tree, and is printed when a line is complete', async () => {
    const script: ScriptLine[] = [
      { reply: { pieces: ['First line.\nSecond', ' line', ' goes on.'], pieceDelayMs: 5 } },
    ];
    const started = startCli(['run', 'lead', 'x'], undefined, {
      terminal: { tty: true },
      behaviour: { opens: () => openCloister({ agents: [lead(script)] }) },
    });
    const seen = new Set<string>();
    for (let isOver = false; !isOver;) {
      await started.pass(100);
      const { lines } = emulate(started.screen(), 80);
      if (lines[0] === 'First line.' && lines[3]?.startsWith('  cell')) seen.add(lines[1] ?? '');
      isOver = lines.includes('Summary');
    }
    expect(await started.code).toBe(0);
    expect([...seen].every((line) => 'Second line goes on.'.startsWith(line))).toBe(true);
    expect(seen.size).toBeGreaterThan(0);
  });
});

describe('in a pipe', () => {
  test('stdout gets exactly the answer, once', async () => {
    expect((await run([asks, breaks, answers])).stdout).toBe(`${answer}\n`);
  });

  // invariant: answer-others-marked
  test('--stream prints text as it comes, marks what is not the answer, and ends with the whole answer', async () => {
    const asked = 'Let me ask.\n(said before calling clerk and 1 more)\n\n';
    expect((await run([asks, answers], { args: ['--stream'] })).stdout).toBe(`${asked}${answer}\n`);
    const retried = (await run([asks, breaks, answers], { args: ['--stream'] })).stdout;
    expect(retried.slice(asked.length)).toMatch(
      /^The answer.*\n\(taken back: the model was asked again\)\n\n## Result\n/u,
    );
    expect(retried.endsWith(`\n\n${answer}\n`)).toBe(true);
    expect((await run([answers], { args: ['--stream'] })).stdout).toBe(`${answer}\n`);
    expect((await run([answers], { args: ['--stream', '--json'] })).stdout).toContain('usage');
  });
});

test('a chat streams each answer, and keeps what agents say unasked apart', async () => {
  const { screen } = await cli(['chat', 'lead'], undefined, {
    terminal: { tty: true, colour: true },
    behaviour: {
      lines: { isTerminal: true, texts: ['one', 'two'] },
      opens: () => openCloister({ agents: [lead([asks, answers])] }),
    },
  });
  const { lines } = emulate(screen, 80);
  expect(lines.filter((line) => line === 'Result')).toHaveLength(2);
  expect(lines.filter((line) => line === '(said before calling clerk and 1 more)')).toHaveLength(1);
  expect(lines.filter((line) => / cells? · /u.test(line))).toHaveLength(2);
});

/** A chat with one message, after `first` was printed; and all that was printed until then. */
const chatUntil = async (first: string, { args = [], tty }: { args?: readonly string[]; tty: boolean }) => {
  const script: ScriptLine[] = [{ reply: { pieces: ['Half of it', ' and the rest.'], pieceDelayMs: 50 } }];
  const chat = startCli(['chat', 'lead', ...args], undefined, {
    terminal: { tty },
    behaviour: {
      lines: { isTerminal: tty, texts: ['one'] },
      opens: () => openCloister({ agents: [lead(script)] }),
    },
  });
  const state = { isOver: false };
  void chat.code.finally(() => (state.isOver = true));
  while (!state.isOver && !chat.screen().includes(first)) await chat.pass(100);
  return { chat, printed: chat.stdout() };
};

test('the first answer of a chat is streamed to a pipe, too', async () => {
  const { chat, printed } = await chatUntil('Half of it', { args: ['--stream'], tty: false });
  expect(printed).toBe('Half of it');
  expect(await chat.code).toBe(0);
  expect(chat.stdout()).toBe('Half of it and the rest.\n');
});

test('Ctrl-C in the middle of an answer of a chat ends it on a line of its own, as not finished', async () => {
  const onTerminal = await chatUntil('Half of it', { tty: true });
  onTerminal.chat.interrupt();
  expect(await onTerminal.chat.code).toBe(130);
  const { lines, cursorVisible } = emulate(onTerminal.chat.screen(), 80);
  expect(lines.slice(1, 3)).toEqual(['Half of it', '(not finished)']);
  expect(lines[3]).toMatch(/ 1 cell · /u);
  expect(lines.slice(4)).toContain('error: The operation was cancelled.');
  expect(cursorVisible).toBe(true);

  const streamed = await chatUntil('Half of it', { args: ['--stream'], tty: false });
  streamed.chat.interrupt();
  expect(await streamed.chat.code).toBe(130);
  expect(streamed.chat.stdout()).toBe('Half of it\n(not finished)\n');

  const atEnd = await chatUntil('started run', { tty: false });
  atEnd.chat.interrupt();
  expect(await atEnd.chat.code).toBe(130);
  expect(atEnd.chat.stdout()).toBe('');
});

/** What is printed of an answer that comes in these pieces. */
const printed = (
  pieces: readonly string[],
  { columns, stream = false }: { columns?: number; stream?: boolean },
): string => {
  const written: string[] = [];
  const tty = columns === undefined ? {} : { isTTY: true, columns: columns + 1 };
  const stdout = { write: (text: string) => written.push(text), ...tty };
  const terminal = {
    stdout,
    stderr: stdout,
    colour: true,
    stdin: async () => null,
    lines: () => null!,
    edit: async () => null,
  };
  const view = openAnswerView(
    { json: false, verbose: false, plain: false, stream },
    { terminal, output: openOutput(terminal) },
  );
  const of = { run: runId, cell: leadId, agent: 'lead' };
  view.note({ ...of, type: 'session-start', parent: null } as unknown as RunEvent);
  view.note({ ...of, type: 'text-reset' });
  for (const text of pieces) {
    view.note({ ...of, type: 'text-delta', text });
    for (const line of view.text?.preview() ?? [])
      expect(width(stripVTControlCharacters(line))).toBeLessThanOrEqual(columns!);
    for (const line of view.text?.takeLines() ?? []) stdout.write(`${line}\n`);
  }
  view.print({ output: pieces.join(''), data: null });
  return written.join('');
};

const streamedPieces = fc.array(
  fc.constantFrom(
    'a',
    'bc d',
    ' ',
    '\n',
    '\n\n',
    '界',
    '\u001B',
    '[31m',
    '\u001B[',
    '2J',
    '\r',
    '**',
    '`',
    '- ',
    '{',
    '\uD83D',
    '\uDE00',
  ),
  { minLength: 1, maxLength: 16 },
);
const letters = (text: string): string => stripVTControlCharacters(text).replaceAll(/[^abcd界\u{1F600}]/gu, '');

// invariants: answer-shown-once, terminal-text-sanitized
test('whatever pieces a text comes in, it is shown once, and a terminal obeys nothing of it', () =>
  fc.assert(
    fc.property(streamedPieces, fc.integer({ min: 19, max: 90 }), (pieces, columns) => {
      const whole = printed([pieces.join('')], {});
      const streamed = printed(pieces, { stream: true });
      expect(streamed.trim()).toBe(whole.trim());
      expect(streamed).not.toMatch(/[^\P{Cc}\n]/u);
      const shown = printed(pieces, { columns });
      expect(letters(shown)).toBe(letters(whole));
      expect(stripVTControlCharacters(shown)).not.toMatch(/[^\P{Cc}\n]/u);
    }),
    { numRuns: testRuns(1_000) },
  ));
