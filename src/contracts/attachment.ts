// Files that come with a message: images, PDFs, texts.
import { utf8Bytes } from '#base';
import type { Hash } from '#base';

/** A file that you send with a request. `data`: its bytes, or the same in base64. */
export type Attachment = {
  /** Such as `image/png`. */
  readonly mediaType: string;
  readonly data: Uint8Array | string;
  readonly name?: string;
};

/**
 * An attachment as it crosses: the content of an `attachment` crossing, as JSON. A text crosses itself. Of any other file its hash
 * crosses; the bytes are in the store, and go to the model with the request.
 */
export type StoredAttachment = { readonly mediaType: string; readonly name?: string } & (
  | { readonly text: string }
  | {
      readonly sha256: Hash;
      readonly bytes: number;
      /** For an image, if its header says so: width times height. */
      readonly pixels?: number;
      /** For a PDF, if it can be read without decompressing anything. */
      readonly pages?: number;
    }
);

/** Such as `plan.png (image/png, 12 KB)`. */
export const describeAttachment = (attachment: StoredAttachment): string => {
  const { name, mediaType } = attachment;
  const bytes = 'text' in attachment ? utf8Bytes(attachment.text) : attachment.bytes;
  const size = bytes < 1_000 ? `${bytes} B` : `${Math.round(bytes / 1_000)} KB`;
  return name === undefined ? `${mediaType}, ${size}` : `${name} (${mediaType}, ${size})`;
};
