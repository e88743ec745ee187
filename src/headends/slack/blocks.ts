// Blocks of Slack's messages and dialogs.
//
//   blocks-are-plain. Whatever an agent, a tool or a person wrote is in `plain_text` or in preformatted text, where Slack reads no mark-up:
//       no mention, no link, no picture comes of it.
import type { JsonObject } from '#base';
import { cutText, escapeEntities, showHidden } from './slack-text.ts';

/** Slack's limits, in characters. */
export const [sectionMax, buttonTextMax, headerMax, inputMax] = [3_000, 75, 150, 3_000];

const plain = (text: string, most: number): JsonObject => ({
  type: 'plain_text',
  text: cutText(escapeEntities(showHidden(text)), most),
  emoji: false,
});

export const section = (text: string): JsonObject => ({
  type: 'section',
  text: plain(text === '' ? ' ' : text, sectionMax),
});

export const header = (text: string): JsonObject => ({ type: 'header', text: plain(text, headerMax) });

export const context = (text: string): JsonObject => ({
  type: 'context',
  elements: [plain(text === '' ? ' ' : text, sectionMax)],
});

/** With mentions of people, by their ids. */
export const peopleLine = (text: string, users: readonly string[]): JsonObject => ({
  type: 'context',
  elements: [{ type: 'mrkdwn', text: `${text} ${users.map((user) => `<@${user}>`).join(', ')}`, verbatim: true }],
});

/** In a fixed-width font. */
export const preformatted = (text: string): JsonObject => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: text === '' ? ' ' : text }] }],
});

/** The text in pieces that each fit into one block, without hidden characters. */
export const inPieces = (text: string, most = sectionMax - 100): readonly string[] => {
  // Line by line, because a line that has nothing to hide takes no time.
  const shown = text.split('\n').map(showHidden).join('\n');
  const pieces: string[] = [];
  for (let from = 0; from < shown.length;) {
    const whole = shown.slice(from, from + most);
    const atLine = from + most < shown.length ? whole.lastIndexOf('\n') + 1 : 0;
    const piece = atLine > most / 2 ? whole.slice(0, atLine) : whole.isWellFormed() ? whole : whole.slice(0, -1);
    pieces.push(piece);
    from += piece.length;
  }
  return pieces;
};

type ButtonSpec = {
  readonly action: string;
  readonly text: string;
  readonly value: string;
  readonly style?: 'primary' | 'danger';
};

export const button = ({ action, text, value, style }: ButtonSpec): JsonObject => ({
  type: 'button',
  action_id: action,
  text: plain(text, buttonTextMax),
  value,
  ...(style === undefined ? {} : { style }),
});

export const actions = (...buttons: readonly JsonObject[]): JsonObject => ({ type: 'actions', elements: buttons });

type InputSpec = {
  readonly name: string;
  readonly label: string;
  readonly initial?: string;
  readonly isOptional?: boolean;
  readonly most?: number;
};

export const textInput = ({ name, label, initial, isOptional = false, most = inputMax }: InputSpec): JsonObject => ({
  type: 'input',
  block_id: name,
  optional: isOptional,
  label: plain(label, 2_000),
  element: {
    type: 'plain_text_input',
    action_id: name,
    multiline: true,
    max_length: most,
    ...(initial === undefined ? {} : { initial_value: initial }),
  },
});

type ModalSpec = {
  readonly title: string;
  readonly blocks: readonly JsonObject[];
  /** Of a dialog that is sent: its name, what it is about, and the word on its button. */
  readonly form?: { readonly name: string; readonly value: string; readonly submit: string };
};

export const modal = ({ title, blocks, form }: ModalSpec): JsonObject => ({
  type: 'modal',
  title: plain(title, 24),
  close: plain('Close', 24),
  blocks,
  ...(form === undefined
    ? {}
    : { callback_id: form.name, private_metadata: form.value, submit: plain(form.submit, 24) }),
});
