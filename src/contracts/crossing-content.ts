// The content of crossings as values. It crosses as text, and this is the only place that says which text is what.
import { deepFreeze } from '#base';
import type { StoredAttachment } from './attachment.ts';
import type { CrossingContent } from './crossing.ts';
import type { History, InheritedFiles } from './conversation.ts';
import type { Mail, RoutedMessages } from './mail.ts';
import type { Envelope } from './session.ts';
import type { DependencyHead, TeamGoal } from './team.ts';

/** The content of a `dependency` crossing. */
export type Dependency = DependencyHead & { readonly text: string };

/** A `message` or `broadcast` crossing, except one in a `give` record. */
export const decodeMail = (content: string): Mail => decodeHead(content) as Mail;

export const decodeDependency = (content: string): Dependency => decodeHead(content) as Dependency;

/** A `result` crossing. */
export const decodeEnvelope = (content: string): Envelope => JSON.parse(content) as Envelope;

/** A `history` crossing. Each of its entries is shown, described and checked by itself, so the newest one that was decoded is kept. */
export const decodeHistory = (content: string): History => {
  const value = newestHistory?.content === content ? newestHistory.value : deepFreeze(JSON.parse(content) as History);
  // To compare equal strings that are not one object takes as long as they are, so the newest object is kept.
  newestHistory = { content, value };
  return value;
};

let newestHistory: { readonly content: string; readonly value: History } | undefined;

/** A `message` crossing in a `give` record. */
export const decodeRoutedMessages = (content: string): RoutedMessages => JSON.parse(content) as RoutedMessages;

/** A `file` crossing. */
export const decodeInheritedFiles = (content: string): InheritedFiles => JSON.parse(content) as InheritedFiles;

/** An `attachment` crossing. */
export const decodeAttachment = (content: string): StoredAttachment => JSON.parse(content) as StoredAttachment;

type CrossedContents = readonly Pick<CrossingContent, 'kind' | 'content'>[];

/** The files that came with the goal. */
export const goalAttachments = (contents: CrossedContents = []): readonly StoredAttachment[] =>
  contents.filter(({ kind }) => kind === 'attachment').map(({ content }) => decodeAttachment(content));

/** The files that crossed: those of a goal, and those of earlier messages. */
export const attachmentsIn = (contents: CrossedContents = []): readonly StoredAttachment[] => [
  ...goalAttachments(contents),
  ...contents
    .filter(({ kind }) => kind === 'history')
    .flatMap(({ content }) => decodeHistory(content).entries.flatMap(({ attachments = [] }) => attachments)),
];

/** The `goal` crossing of a team that was called with tasks, or from outside. */
export const decodeTeamGoal = (content: string): TeamGoal => JSON.parse(content) as TeamGoal;

/** One line of JSON, then the text, unescaped: see `encodeMessage`. Throws if there is no such line. */
const decodeHead = (content: string): object => {
  const end = content.indexOf('\n');
  return { ...(JSON.parse(content.slice(0, Math.max(0, end))) as object), text: content.slice(end + 1) };
};
