// What is in the workspace, for assertions.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import { readBlock, readMessage } from './message-body.ts';
import { hasOpenStream, textField } from './workspace.ts';
import type { MessageState, SlackCard, Workspace } from './workspace.ts';

/** A button that people can press. */
type SlackButton = { readonly text: string; readonly actionId: string; readonly value: string };

/** A message as it is now; ask again for a later state. */
export type SlackMessage = {
  readonly channel: string;
  readonly ts: string;
  /** The `ts` of the first message of its thread; undefined outside threads. */
  readonly thread: string | undefined;
  readonly user: string;
  readonly isByApp: boolean;
  /** Only this person sees it. */
  readonly onlyFor: string | undefined;
  /** The text without cards and other blocks: Markdown as it was sent. */
  readonly text: string;
  readonly cards: readonly SlackCard[];
  readonly planTitle: string | undefined;
  /** Blocks that are neither Markdown nor cards. */
  readonly blocks: readonly JsonObject[];
  readonly buttons: readonly SlackButton[];
  /** All that a person reads: text, cards, blocks, buttons, files. */
  readonly shown: string;
  readonly metadata: JsonObject | undefined;
  readonly unfurlLinks: boolean | undefined;
  readonly unfurlMedia: boolean | undefined;
  /** Ids of files. */
  readonly files: readonly string[];
  readonly reactions: readonly string[];
  readonly isStreaming: boolean;
  /** How often it was changed by `chat.update`. */
  readonly edits: number;
};

export const describeMessage = (workspace: Workspace, message: MessageState): SlackMessage => {
  const { channel, ts, thread, user, onlyFor, text, planTitle, metadata, unfurlLinks, unfurlMedia, edits } = message;
  return {
    channel,
    ts,
    thread,
    user,
    isByApp: user === workspace.ids.botUser,
    onlyFor,
    text,
    cards: [...message.cards],
    planTitle,
    blocks: [...message.blocks],
    buttons: listButtons(message.blocks),
    shown: readMessage(message),
    metadata,
    unfurlLinks,
    unfurlMedia,
    files: [...message.files],
    reactions: message.reactions.map(({ name }) => name),
    isStreaming: hasOpenStream(workspace, message),
    edits,
  };
};

const listButtons = (blocks: readonly Json[]): readonly SlackButton[] =>
  blocks.flatMap((block): readonly SlackButton[] => {
    if (!isObject(block)) return [];
    if (block['type'] === 'button')
      return [
        {
          text: readBlock(block['text']),
          actionId: textField(block['action_id']),
          value: textField(block['value']),
        },
      ];
    const elements = Array.isArray(block['elements']) ? (block['elements'] as readonly Json[]) : [];
    return listButtons([...elements, block['accessory'] ?? null]);
  });
