import type { Attachment, StoredAttachment } from './attachment.ts';

/** One message of a dialog, as reported by a client. `agent`: the agent the request is for. */
export type DialogMessage = {
  readonly by: 'person' | 'agent';
  readonly text: string;
  /** Files that came with the message of a person. */
  readonly attachments?: readonly Attachment[];
};

/** The same, with files that are in the store or about to be. */
export type StoredDialogMessage = Omit<DialogMessage, 'attachments'> & {
  readonly attachments?: readonly StoredAttachment[];
};
