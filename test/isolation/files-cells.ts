// How the cells of the team behave. What a watched cell does depends on every byte it was sent; the varied one does anything
// in private, asks its children the same things and ends the same way.
import { hash } from 'node:crypto';
import type { CellName } from './agent-folder.ts';
import { brokenCall } from './fake-world.ts';
import type { ChatCall, ChatReply, Sent } from './fake-wire.ts';
import { guesses } from './files-vary.ts';
import type { Act, Shape, State } from './files-vary.ts';

/** Occurs in every goal whose cell is watched, and nowhere else. */
export const watchedMark = 'WATCHED';

type Message = { readonly role: string; readonly content: string };

/** A request as its cell means it. */
export type CellRequest = {
  readonly task: string;
  /** How often the model has answered before, from 0. */
  readonly turn: number;
  /** A digest that depends on every byte of the request. */
  readonly mark: string;
  readonly watched: boolean;
};

export const parseRequest = (sent: Sent): CellRequest => {
  const { messages } = JSON.parse(sent.body) as { messages: readonly Message[] };
  const task = messages.find(({ role }) => role === 'user')!.content;
  const turn = messages.filter(({ role }) => role === 'assistant').length;
  return { task, turn, mark: hash('sha256', JSON.stringify(sent)).slice(0, 16), watched: task.includes(watchedMark) };
};

type Calls = readonly { readonly name: string; readonly input: string }[];
type Reply = Pick<ChatReply, 'text' | 'usage'> & { readonly calls: Calls };

const call = (name: string, args: object): Calls[number] => ({ name, input: JSON.stringify(args) });

/** As sent over the wire. */
export const replyTo = ({ turn }: CellRequest, { calls, ...reply }: Reply): ChatReply => ({
  ...reply,
  calls: calls.map((one, index): ChatCall => ({ id: `call_${turn}_${index}`, ...one })),
});

// ---- a watched cell

export type Role = { readonly cell: CellName; readonly shape: Shape; readonly hasStdioServer: boolean };

export const watchedReply = (role: Role, { turn, mark }: CellRequest): Reply => {
  const { cell, shape, hasStdioServer } = role;
  const watched = { mark, watched: watchedMark };
  const tried = [
    [
      call('kit__probe', watched),
      call('kit__fail', watched),
      call('kit__long', watched),
      ...(shape.web ? [call('web__echo', watched)] : []),
      ...(hasStdioServer ? [call('stdio__look', watched), call('stdio__count', watched)] : []),
      call('list_files', {}),
      call('read_file', { path: 'notes.md' }),
      call('read_skill', { skill: 'own' }),
      call('ghost', { mark }),
    ],
    [
      call('read_output', { name: 'kit__long_001.txt', from: Number.parseInt(mark.slice(0, 2), 16), bytes: 90 }),
      call('read_output', { name: 'kit__burst_001.txt' }),
      call('write_file', { path: `${mark}.txt`, content: `${mark} ${guesses}` }),
      ...askChild(role, `Look at ${mark} with ${guesses}.`, mark),
      call('read_skill', { skill: 'own', file: 'more.md' }),
      call('kit__probe', { ...watched, again: true }),
      call('list_files', {}),
    ],
  ];
  const calls = tried[turn] ?? [];
  return {
    calls,
    text:
      calls.length > 0 ? `At ${mark}, ${guesses}.` : answerOf(cell, shape, `${mark} ${guesses}`, turn === tried.length),
  };
};

/** Its children, each with a watched goal. */
const askChild = ({ cell, shape }: Role, goal: string, reason: string): Calls => {
  const words = `${watchedMark} ${goal}`;
  if (cell === 'left' || cell === 'right') return [call('deep', { prompt: words, reason })];
  if (cell !== 'lead') return [];
  const left = shape.leftInput === 'json' ? { question: words, depth: 2 } : { prompt: words };
  if (!shape.viaGather) return [call('left', { ...left, reason }), call('right', { prompt: words, reason })];
  const task = shape.leftInput === 'json' ? { input: left } : left;
  return [
    call('gather', {
      tasks: [
        { agent: 'left', ...task, reason },
        { agent: 'right', prompt: words, reason },
      ],
    }),
  ];
};

const answerOf = (cell: CellName, { leftAsked }: Shape, words: string, first: boolean): string => {
  if (cell !== 'left' || leftAsked === 'as it is') return `Seen: ${words}`;
  return leftAsked === 'json, repaired' && first ? `Not JSON: ${words}` : JSON.stringify({ answer: words });
};

/** What a watched agent does for an unwatched goal: another session of it, for the varied cell alone. */
export const twinReply = ({ turn }: CellRequest, { cell, shape, hasStdioServer }: Role): Reply =>
  turn === 0
    ? {
        calls: [
          call('kit__jot', { text: 'twin' }),
          call('write_file', { path: 'notes.md', content: 'twin' }),
          ...(hasStdioServer ? [call('stdio__count', {})] : []),
        ],
      }
    : { calls: [], text: answerOf(cell, shape, 'twin', false) };

// ---- the varied cell

/** Its private turns, then its children's goals, then the end. */
export const variedReply = (role: Role, state: State, { turn }: CellRequest): Reply => {
  const { cell, shape } = role;
  const turns = [
    ...state.turns.map((acts) => acts.flatMap((act) => actCalls(act, role))),
    [...state.beside.flatMap((act) => actCalls(act, role)), ...askChild(role, 'Compare.', state.reason)],
  ].filter((calls) => calls.length > 0);
  const calls = turns[turn] ?? [];
  const { usage } = state;
  // Its last text would become its answer.
  if (calls.length > 0) return { calls, usage, text: shape.ending === 'answer' ? state.words : '' };
  return { calls, usage, text: cell === 'lead' ? 'Done.' : answerOf(cell, shape, shape.answer, turn === turns.length) };
};

const actCalls = ({ kind, text }: Act, { cell, shape, hasStdioServer }: Role): Calls => {
  switch (kind) {
    case 'write':
      return [call('write_file', { path: text.length % 2 === 0 ? 'notes.md' : 'plan.txt', content: text })];
    case 'list':
      return [call('list_files', {}), call('read_skill', { skill: 'own', file: 'more.md' })];
    case 'read':
      return [call('read_file', { path: 'notes.md' }), call('read_skill', { skill: 'own' })];
    case 'twin':
      return additionalCall(cell, shape, `Something else: ${text}`);
    case 'broken':
      return [brokenCall('kit__jot', text)];
    case 'look':
      return [
        ...(shape.web ? [call('web__echo', { mark: text })] : []),
        ...(hasStdioServer ? [call('stdio__look', { mark: text }), call('stdio__count', {})] : []),
      ];
    case 'burst':
      return [call('kit__long', { mark: text })];
    case 'jot':
    case 'fail':
      return [call(`kit__${kind}`, { mark: text })];
    case 'ghost':
      return [call('ghost', { text })];
  }
};

/** Asks one of its children something additional. */
const additionalCall = (cell: CellName, { leftInput }: Shape, words: string): Calls => {
  if (cell === 'left' || cell === 'right') return [call('deep', { prompt: words })];
  if (cell !== 'lead') return [];
  return [
    call('left', leftInput === 'json' ? { question: words } : { prompt: words }),
    call('right', { prompt: words }),
  ];
};
