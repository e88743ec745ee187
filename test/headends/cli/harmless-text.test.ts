import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CloisterError } from '#base';
import { testRuns } from '../../test-seed.ts';
import { cli, escape, interruptedSummary, scene } from './driver.ts';
import type { Behaviour, Scene } from './driver.ts';

const escapes = [
  '\u001B[2J',
  '\u001B]0;owned\u0007',
  '\u001B]8;;http://x\u001B\\',
  '\u009B31m',
  '\u001BP',
  '\u001B[6n',
  '\r',
  '\b',
  '\u0000',
  '\u007F',
  '\u0085',
  '\u2028',
  '\u202E',
  '\uD800',
  '界',
  '👩‍👩‍👧',
  'é',
  '\t',
  '\n',
];
const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...escapes), fc.string({ unit: 'binary', maxLength: 6 })), { maxLength: 12 })
  .map((parts) => parts.join(''));
const hostileScene = fc.record({
  agent: hostileText,
  childAgent: hostileText,
  goal: hostileText,
  answer: hostileText,
  tool: hostileText,
  model: hostileText,
  failure: hostileText.map((detail) => ({ code: 'tool_failed', detail }) as const),
});

/** All control sequences that the command line itself may send: cursor moves of the live tree, and colours. */
const ours = new RegExp(String.raw`${escape}\[(?:\d+A|K|J|\?25[lh]|\d+m)`, 'gu');
const colour = new RegExp(String.raw`${escape}\[\d+m`, 'u');
const forbidden = /(?![\n\t])\p{Cc}|[\u202A-\u202E\u2066-\u2069]|\p{Cs}/u;

const commands: readonly (readonly string[])[] = [
  ['run', 'lead', 'x'],
  ['run', 'lead', 'x', '--verbose'],
  ['demo'],
  ['runs'],
  ['show', 'last', '--verbose'],
  ['explain', 'last', 'researcher-'],
  ['explain', 'last', 'researcher-', '--find', 'x'],
  ['audit', 'last'],
  ['resume', 'last'],
  ['replay', 'last'],
  ['fork', 'last', '--at', 'lead-'],
  ['fork', 'last', '--at', 'lead-/99'],
  ['diff', 'last', '4f2'],
  ['verify', 'lead'],
  ['run', 'lead', 'x', '--conversation', 'trip'],
  ['show', 'last', '--window'],
  ['show', 'last', '--mail'],
  ['show', 'last', '--transcript'],
  ['show', 'last', '--mail', '--verbose'],
  ['dead-letters'],
  ['chat', 'lead'],
  ['conversations', 'list'],
  ['conversations', 'show', 'trip'],
  ['conversations', 'show', 'none'],
  ['conversations', 'delete', 'trip'],
  ['conversations', 'attach', 'trip', 'scout'],
  ['checkpoints', 'list'],
  ['checkpoints', 'create', 'last'],
  ['checkpoints', 'restore', 'last'],
  ['checkpoints', 'branch', 'last'],
  ['checkpoints', 'diff', 'last', 'c0'],
];

/** Only an interrupted run can be resumed. The user says yes, and a message is refused. */
const behaviourFor = ([command, action]: readonly string[], given: Scene): Behaviour => ({
  ...(command === 'resume' ? { runs: [interruptedSummary(given)] } : {}),
  lines: { isTerminal: true, texts: ['y', 'x'] },
  talk: { nothingInFlight: action === 'branch', sharedWith: given.childAgent },
  ...(command === 'chat' ? { onTurn: refuseOne(given.goal) } : {}),
});

const refuseOne = (detail: string): NonNullable<Behaviour['onTurn']> => {
  let no = 0;
  return () => {
    if (no++ > 0) throw new CloisterError('conversation_busy', detail);
  };
};

// invariant: sanitized-no-control
test('no foreign text can send a control character to the terminal', () =>
  fc.assert(
    fc.asyncProperty(hostileScene, fc.constantFrom(...commands), async (texts, args) => {
      const given = scene({ ...texts, status: 'failed', refused: true, auditOk: false });
      const { stdout, stderr } = await cli(args, given, { behaviour: behaviourFor(args, given) });
      expect(stdout + stderr).not.toMatch(forbidden);
    }),
    { numRuns: testRuns(400) },
  ));

// invariant: terminal-text-sanitized
test('only the CLI’s own cursor moves and colours reach a terminal', () =>
  fc.assert(
    fc.asyncProperty(hostileScene, fc.constantFrom(...commands), async (texts, args) => {
      const given = scene({ ...texts, status: 'failed', refused: true, auditOk: false });
      const { screen } = await cli(args, given, {
        terminal: { tty: true, colour: true },
        behaviour: behaviourFor(args, given),
      });
      expect(screen.replaceAll(ours, '').replaceAll('\r', '')).not.toMatch(forbidden);
      expect(screen).not.toMatch(new RegExp(String.raw`\r(?!${escape})`, 'u'));
    }),
    { numRuns: testRuns(400) },
  ));

const named: readonly (readonly string[])[] = [
  [],
  ['show', '--'],
  ['audit', '--'],
  ['chat', '--'],
  ['chat', 'lead', '--conversation'],
  ['conversations', 'show', '--'],
  ['conversations', 'attach', 'trip', '--'],
  ['conversations', 'list', '--agent'],
  ['checkpoints', 'restore', '--'],
  ['checkpoints', 'list', '--agent'],
  ['run', 'lead', 'x', '--context'],
];

test('foreign text in arguments is sanitized in errors', () =>
  fc.assert(
    fc.asyncProperty(hostileText, fc.constantFrom(...named), async (name, before) => {
      const { stdout, stderr } = await cli([...before, name]);
      expect(stdout + stderr).not.toMatch(forbidden);
    }),
    { numRuns: testRuns(200) },
  ));

test('there is no colour without a terminal, or when colour is off', async () => {
  for (const terminal of [
    { tty: false, colour: true },
    { tty: true, colour: false },
  ])
    expect((await cli(['demo'], scene({ refused: true }), { terminal })).screen).not.toMatch(colour);
  expect((await cli(['demo'], scene(), { terminal: { tty: true, colour: true } })).screen).toMatch(colour);
});
