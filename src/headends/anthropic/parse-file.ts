// Parses an image or a document of a message.
import { CloisterError } from '#base';
import type { Attachment } from '#contracts';
import type { BodyFields } from '#headends/shared';

export const parseFile = (block: BodyFields): Attachment => {
  const source = block.fields('source');
  const name = block.optionalText('title');
  const named = name === undefined ? {} : { name };
  switch (source.text('type')) {
    case 'base64':
      return { mediaType: source.text('media_type'), data: source.text('data'), ...named };
    case 'text':
      return { mediaType: 'text/plain', data: Buffer.from(source.text('data')), ...named };
    case 'url':
    case 'file':
      throw new CloisterError(
        'request_unsupported',
        `${source.path('type')}: files are not fetched; send them as base64 or text.`,
      );
    default:
      throw source.invalid('type', 'base64 or text');
  }
};
