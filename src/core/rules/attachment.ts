// Renders a file that came with a message: a text as data, any other file as a reference to the bytes in the store.
import { decodeAttachment, decodeHistory } from '#contracts';
import type { Model, PromptPart, Segment, StoredAttachment } from '#contracts';
import { dataFrame } from './data-frame.ts';
import { sourceText, userMessage } from './dialog.ts';
import { isMadeBy } from './recorded-versions.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/**
 * attachment@1. Source: the crossing. For a file of an earlier message, the crossing is the history, and the numbers are the index
 * of the entry, that of the file in it, and why it is left out (`leftOutReason`).
 */
export const attachmentRule: Rule = ([crossing], [entry = 0, place = 0, leftOut = 0]) => {
  const attachment = findAttachment(crossing, entry, place);
  const { name, mediaType } = attachment;
  const title = `Attached file${name === undefined ? '' : ` ${JSON.stringify(name)}`} (${mediaType})`;
  if (leftOut > 0) return userMessage(`${title}, left out: ${leftOutTexts[leftOut]!}.`);
  const heading = `${title}:`;
  if ('text' in attachment) return userMessage(dataFrame(heading, attachment.text));
  const reference = { sha256: attachment.sha256, tokens: String(estimateFileTokens(attachment)) };
  const file = {
    type: 'file',
    mediaType,
    ...(name === undefined ? {} : { filename: name }),
    data: { type: 'reference', reference },
  } as const;
  return { message: { role: 'user', content: [{ type: 'text', text: heading }, file] } };
};

/** Why a file of an earlier message is left out, as a number of its segment. */
export const leftOutReason = { noRoom: 1, notTaken: 2 } as const;

const leftOutTexts: Readonly<Record<number, string>> = {
  [leftOutReason.noRoom]: 'there is no room for it',
  [leftOutReason.notTaken]: 'it cannot be shown to you',
};

/** Whether a segment shows a file of the goal, not one of an earlier message. */
export const isGoalFile = ({ rule, with: numbers }: Segment['origin']): boolean =>
  isMadeBy(rule, 'attachment') && numbers === undefined;

const findAttachment = (crossing: ResolvedSource | undefined, entry: number, place: number): StoredAttachment => {
  const content = sourceText(crossing);
  const kind = crossing?.from === 'crossing' ? crossing.kind : undefined;
  const found =
    kind === 'history'
      ? decodeHistory(content).entries[entry]?.attachments?.[place]
      : kind === 'attachment'
        ? decodeAttachment(content)
        : undefined;
  if (found === undefined) throw new TypeError('attachment@1 needs an attachment');
  return found;
};

type StoredFile = Extract<StoredAttachment, { readonly sha256: unknown }>;

/**
 * The most that vendors say they count: for an image about a token for 500 to 750 pixels, up to about 5,000; for a page of a PDF
 * its text and its picture. Without such facts, by size. Audio and video usually have more than 100 bytes to a token.
 */
const estimateFileTokens = ({ mediaType, bytes, pixels, pages }: StoredFile): number => {
  if (mediaType.startsWith('image/')) return Math.min(imageTokensMax, Math.ceil((pixels ?? Infinity) / 500) + 100);
  if (mediaType === 'application/pdf')
    return pages === undefined ? Math.min(400_000, Math.ceil(bytes / 4) + imageTokensMax) : pages * 4_500;
  return Math.ceil(bytes / (/^(?:audio|video)\//u.test(mediaType) ? 100 : 2)) + 100;
};

const imageTokensMax = 5_000;

/** Names the bytes of a file in the store, in a part that `attachment@1` made. */
export type FileReference = { readonly sha256: string; readonly tokens: number; readonly mediaType: string };

/** The files that a part refers to. */
export const fileReferences = (part: PromptPart | undefined): readonly FileReference[] => {
  if (part === undefined || !('message' in part) || part.message.role !== 'user') return none;
  return part.message.content.flatMap((item): FileReference[] => {
    if (item.type !== 'file' || item.data.type !== 'reference') return [];
    const { sha256 = '', tokens = '' } = item.data.reference;
    return [{ sha256, tokens: Number(tokens), mediaType: item.mediaType }];
  });
};

/** The first media type among these that the model does not take. */
export const unsupportedType = (
  { attachments: taken = none }: Pick<Model, 'attachments'>,
  files: readonly Pick<FileReference, 'mediaType'>[],
): string | undefined => {
  const isTaken = (type: string): boolean =>
    taken.some((one) => one === type || one === '*/*' || (one.endsWith('/*') && type.startsWith(one.slice(0, -1))));
  return files.find(({ mediaType }) => !isTaken(mediaType))?.mediaType;
};

const none: readonly never[] = [];
