// Files in the messages of clients. They come inside the request: nothing is fetched, and no vendor's file store is asked.
import { CloisterError } from '#base';
import type { Attachment } from '#contracts';

/** A file given as a `data:` URL. Throws `request_unsupported` for any other URL. `path`: of the field, for errors. */
export const fileFromUrl = (path: string, url: string, name?: string): Attachment => {
  const [, mediaType, data] = /^data:([^;,]{1,100})(?:;[^;,]{1,100}){0,5};base64,([^]*)$/u.exec(url) ?? [];
  if (mediaType === undefined || data === undefined)
    throw new CloisterError(
      'request_unsupported',
      `${path}: files are not fetched from a URL. Send the bytes as a data: URL in base64.`,
    );
  return { mediaType, data, ...(name === undefined ? {} : { name }) };
};

/** What an agent is told in place of a file that cannot be passed on. */
export const omittedFileText = (kind: string): string =>
  `(A file of type ${JSON.stringify(kind.slice(0, 40))} was left out: files cannot be passed on with tool results.)`;

/** The text of a message that has files but no text: an agent's task is never empty. */
export const filesOnlyText = 'The message has no text, only the attached files.';
