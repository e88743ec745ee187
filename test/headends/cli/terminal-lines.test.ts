import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { terminalLines } from '#headends/cli';
import { emulate, settle } from './driver.ts';

/** A fake stdin and stderr; `raw` says whether the terminal is in raw mode. */
const open = (isTTY: boolean) => {
  let raw = false;
  let written = '';
  const interrupts: number[] = [];
  const setRawMode = (mode: boolean) => {
    raw = mode;
  };
  const input = Object.assign(new PassThrough(), isTTY ? { isTTY, setRawMode } : {});
  const output = Object.assign(new PassThrough(), { isTTY, columns: 80 });
  output.on('data', (bytes: Buffer) => (written += bytes.toString()));
  const lines = terminalLines({ input, output, interrupt: () => interrupts.push(1) });
  return { input, output, lines, interrupts, raw: () => raw, written: () => written };
};

test('a pipe returns line by line, whatever its line breaks and chunks, and then null', async () => {
  const { input, lines, written } = open(false);
  expect(lines.isTerminal).toBe(false);
  input.write('one\r\ntw');
  const first = await lines.next('> ');
  input.write('o\n\nfour');
  input.end();
  const rest = [await lines.next('> '), await lines.next('> '), await lines.next('> '), await lines.next('> ')];
  expect([first, ...rest]).toEqual(['one', 'two', '', 'four', null]);
  expect(await lines.next('> ')).toBe(null);
  expect(written()).toBe('');
});

test('lines that arrive between calls are not lost', async () => {
  const { input, lines } = open(false);
  input.end('a\nb\nc\n');
  const got: (string | null)[] = [];
  do {
    got.push(await lines.next(''));
    await settle();
  } while (got.at(-1) !== null);
  expect(got).toEqual(['a', 'b', 'c', null]);
});

test('closing settles a pending call', async () => {
  for (const isTTY of [false, true]) {
    const { lines } = open(isTTY);
    const waiting = lines.next('> ');
    await settle();
    lines.close();
    expect(await waiting).toBe(null);
    expect(await lines.next('> ')).toBe(null);
  }
});

test('at a terminal the prompt is shown before the line, which can be edited', async () => {
  const { input, lines, written, raw } = open(true);
  expect(lines.isTerminal).toBe(true);
  const typed = lines.next('trip> ');
  expect(raw()).toBe(true);
  input.write('Helo');
  input.write('\u001B[D');
  input.write('l\r');
  expect(await typed).toBe('Hello');
  expect(written()).toContain('trip> ');
  lines.close();
  expect(raw()).toBe(false);
});

test('a line can begin with a text that is edited', async () => {
  const { input, lines, written } = open(true);
  const typed = lines.next('args> ', '{"to":"anna"}');
  expect(emulate(written(), 80).lines).toEqual(['args> {"to":"anna"}']);
  input.write('\u001B[D\u001B[D!\r');
  expect(await typed).toBe('{"to":"anna!"}');
  const next = lines.next('> ');
  input.write('x\r');
  expect(await next).toBe('x');
  lines.close();
});

// invariant: answer-typed-after-question
test('what was typed or pasted before `discard` answers nothing, and a pending line ends with null', async () => {
  const { input, lines, raw } = open(true);
  lines.discard();
  expect(raw()).toBe(true);
  input.write('a\rb');
  await settle();
  lines.discard();
  const first = lines.next('> ');
  input.write('x\ry\rz');
  expect(await first).toBe('x');
  lines.discard();
  const second = lines.next('> ');
  input.write('half');
  await settle();
  lines.discard();
  expect(await second).toBe(null);
  const third = lines.next('> ');
  input.write('whole\r');
  expect(await third).toBe('whole');
  lines.release();
  expect(raw()).toBe(false);
  lines.close();
});

// invariant: typed-ahead-unseen
test('what is typed between two lines is not echoed then, and comes with the next prompts', async () => {
  const { input, lines, written, raw, interrupts } = open(true);
  const first = lines.next('> ');
  input.write('one\r');
  expect(await first).toBe('one');
  const before = written();
  input.write('lost\u0003two\r');
  input.write('thx');
  input.write('\u007Fr');
  await settle();
  expect([written(), raw(), interrupts.length]).toEqual([before, true, 1]);
  expect(await lines.next('> ')).toBe('two');
  expect(written().slice(before.length)).toContain('two');
  const third = lines.next('> ');
  input.write('ee\r');
  expect(await third).toBe('three');
  lines.close();
  expect(raw()).toBe(false);
});

test('a line can be recalled with the arrow key', async () => {
  const { input, lines } = open(true);
  const first = lines.next('> ');
  input.write('first\r');
  await first;
  const second = lines.next('> ');
  input.write('\u001B[A');
  input.write('!\r');
  expect(await second).toBe('first!');
});

test('pasted lines are returned one by one, and an unfinished last line stays', async () => {
  const { input, lines } = open(true);
  const first = lines.next('> ');
  input.write('one\rtwo\rthr');
  expect(await first).toBe('one');
  expect(await lines.next('> ')).toBe('two');
  const third = lines.next('> ');
  input.write('ee\r');
  expect(await third).toBe('three');
});

test('Ctrl-D on an empty line ends the input; Ctrl-C is passed on', async () => {
  const { input, lines, interrupts, written } = open(true);
  const typed = lines.next('> ');
  input.write('half\u0003');
  await settle();
  expect(interrupts).toHaveLength(1);
  input.write('\u0015\u0004');
  expect(await typed).toBe(null);
  expect(written().endsWith('\n')).toBe(true);
});

test('what is printed while a line is typed stands above it, and the line stays as it is', async () => {
  for (const before of ['Hel', 'Hello '.repeat(20), '']) {
    const { input, output, lines, written } = open(true);
    const typed = lines.next('trip> ');
    if (before !== '') input.write(before);
    await settle();
    lines.printAbove(() => output.write('[lead, unasked] Look!\n'));
    input.write('lo');
    await settle();
    const screen = emulate(written(), 80).lines;
    expect(screen[0]).toBe('[lead, unasked] Look!');
    expect(screen.slice(1).join('').trimEnd()).toBe(`trip> ${before}lo`);
    input.write('\r');
    expect(await typed).toBe(`${before}lo`);
  }
});

test('without a terminal, and between two lines, it is just printed', async () => {
  for (const isTTY of [false, true]) {
    const { output, lines, written } = open(isTTY);
    lines.printAbove(() => output.write('Look!\n'));
    expect(written()).toBe('Look!\n');
  }
});
