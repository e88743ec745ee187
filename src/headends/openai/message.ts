// Parses one message of a dialog, in the form that chat completions and responses share.
import { CloisterError } from '#base';
import type { Attachment, ClientRules } from '#contracts';
import { fileFromUrl, omittedFileText } from '#headends/shared';
import type { BodyFields } from '#headends/shared';
import { noClientTools } from './unsupported-fields.ts';

type OpenaiMessage = MessageContent & { readonly by: 'person' | 'agent' | 'system' };

type MessageContent = { readonly text: string; readonly attachments?: readonly Attachment[] };

/** Throws `request_invalid`, or `request_unsupported` for content other than text and files. Calls of client tools are ignored: the client remembers them. */
export const parseDialogMessage = (message: BodyFields, rules: ClientRules): OpenaiMessage => {
  const by = parseAuthor(message);
  for (const field of rules.tools ? ['function_call'] : ['tool_calls', 'function_call']) {
    const calls = message.value[field];
    if (!Array.isArray(calls) || calls.length > 0) message.refuse(field, noClientTools);
  }
  message.refuse('audio', 'agents write only text.');
  // An answer that consisted of tool calls only.
  if (by === 'agent' && !message.has('content')) return { by, text: '' };
  return { by, ...parseContent(message, 'content', by === 'person') };
};

const parseAuthor = (message: BodyFields): OpenaiMessage['by'] => {
  switch (message.oneOf('role', ['user', 'assistant', 'system', 'developer', 'tool', 'function'])) {
    case 'user':
      return 'person';
    case 'assistant':
      return 'agent';
    case 'system':
    case 'developer':
      return 'system';
    case 'tool':
    case 'function':
      throw new CloisterError('request_unsupported', `${message.path('role')}: ${noClientTools}`);
    default:
      throw message.invalid('role', 'user, assistant, system or developer');
  }
};

/** The text of a tool result. Files in it are left out, and a note says so. */
export const resultText = (message: BodyFields, field: string): string => {
  const { value } = message;
  if (typeof value[field] === 'string') return value[field];
  return partsOf(message, field)
    .map((part) => {
      const parsed = parsePart(part);
      return typeof parsed === 'string' ? parsed : omittedFileText(parsed.mediaType);
    })
    .join('\n\n');
};

const parseContent = (message: BodyFields, field: string, mayAttach: boolean): MessageContent => {
  const { value } = message;
  if (typeof value[field] === 'string') return { text: value[field] };
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const part of partsOf(message, field)) {
    const parsed = parsePart(part);
    if (typeof parsed === 'string') texts.push(parsed);
    else if (mayAttach) attachments.push(parsed);
    else throw unsupported(part.path('type'), 'only messages of the user can have files.');
  }
  return { text: texts.join('\n\n'), ...(attachments.length === 0 ? {} : { attachments }) };
};

const partsOf = (message: BodyFields, field: string): readonly BodyFields[] => {
  if (!Array.isArray(message.value[field])) throw message.invalid(field, 'a string or an array of parts');
  return message.items(field);
};

/** A text, or a file. */
const parsePart = (part: BodyFields): string | Attachment => {
  const type = part.text('type');
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return part.text('text');
    case 'refusal':
      return part.text('refusal');
    case 'image_url':
      return parseImage(part.fields('image_url'), 'url');
    case 'input_image':
      return parseImage(part, 'image_url');
    case 'file':
      return parseFile(part.fields('file'));
    case 'input_file':
      return parseFile(part);
    case 'input_audio': {
      const audio = part.fields('input_audio');
      return { mediaType: audio.text('format') === 'wav' ? 'audio/wav' : 'audio/mpeg', data: audio.text('data') };
    }
    default:
      throw unsupported(
        part.path('type'),
        `only text, images, files and audio are supported, not ${JSON.stringify(type.slice(0, 40))}.`,
      );
  }
};

const noFileStore = 'there is no store of uploaded files here; send the bytes in the message.';

const parseImage = (image: BodyFields, field: string): Attachment => {
  image.refuse('file_id', noFileStore);
  return fileFromUrl(image.path(field), image.text(field));
};

/** `file_data` is a `data:` URL, or base64 alone: then it is a PDF, as in the protocol. */
const parseFile = (file: BodyFields): Attachment => {
  file.refuse('file_id', noFileStore);
  file.refuse('file_url', 'files are not fetched from a URL; send file_data.');
  const [data, name] = [file.text('file_data'), file.optionalText('filename')];
  if (data.startsWith('data:')) return fileFromUrl(file.path('file_data'), data, name);
  return { mediaType: 'application/pdf', data, ...(name === undefined ? {} : { name }) };
};

const unsupported = (path: string, why: string): CloisterError =>
  new CloisterError('request_unsupported', `${path}: ${why}`);
