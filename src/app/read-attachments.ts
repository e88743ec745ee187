// Reads the files that come with a request, before anything is recorded.
//
//   attachment-checked. Whatever is attached becomes a text, or bytes under their hash, or an `attachment_refused` that names
//       the file and what is wrong. Nothing is fetched: a URL is never a file.
//   attachment-type-true. A file whose first bytes show another type than it claims is refused.
import { CloisterError, countPages, countPixels, hasSignature, isObject, sha256, utf8Bytes } from '#base';
import type { Attachment, ModelSummary, StoredAttachment } from '#contracts';
import { unsupportedType } from '#core/rules';

/** `blobs`: the bytes of the files that are not texts. */
type AttachmentsWithBytes = {
  readonly attachments: readonly StoredAttachment[];
  readonly blobs: readonly Uint8Array[];
};

const countMax = 32;
const bytesMax = 32 * 1024 * 1024;
const textBytesMax = 1_000_000;
const nameCharsMax = 200;

/** `where`: the name of the option, for errors. */
export const readAttachments = (
  where: string,
  given: readonly Attachment[],
  redact: (text: string) => string,
): AttachmentsWithBytes => {
  if (!Array.isArray(given)) throw refused(where, 'expected a list of files');
  if (given.length > countMax) throw refused(where, `${given.length} files; the limit is ${countMax}`);
  const blobs: Uint8Array[] = [];
  // Not by the list's own methods: whoever made it could have replaced them.
  const attachments = Array.from(given, (one: unknown, index) => readOne(`${where}[${index}]`, one, { redact, blobs }));
  const total = blobs.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (total > bytesMax) throw refused(where, `${total} bytes; the limit is ${bytesMax}`);
  return { attachments, blobs };
};

type ReadContext = { readonly redact: (text: string) => string; readonly blobs: Uint8Array[] };

const readOne = (where: string, given: unknown, { redact, blobs }: ReadContext): StoredAttachment => {
  if (!isObject(given)) throw refused(where, 'expected { mediaType, data, name? }');
  const mediaType = readMediaType(where, given['mediaType']);
  const name = readName(where, given['name'], redact);
  const bytes = readBytes(where, given['data']);
  // The name says more than the position to whoever chose the file.
  const file = name === undefined ? where : `${where} (${name})`;
  if (bytes.byteLength === 0) throw refused(file, 'the file is empty');
  const named = { mediaType, ...(name === undefined ? {} : { name }) };
  if (isTextType(mediaType)) return { ...named, text: redact(readText(file, bytes)) };
  if (!hasSignature(mediaType, bytes)) throw refused(file, `its bytes are not ${mediaType}`);
  blobs.push(bytes);
  const [pixels, pages] = [countPixels(mediaType, bytes), countPages(mediaType, bytes)];
  return {
    ...named,
    sha256: sha256(bytes),
    bytes: bytes.byteLength,
    ...(pixels === undefined ? {} : { pixels }),
    ...(pages === undefined ? {} : { pages }),
  };
};

const readMediaType = (where: string, given: unknown): string => {
  const [type = ''] = typeof given === 'string' ? given.toLowerCase().split(';') : [];
  const trimmed = type.trim();
  if (!/^[a-z]+\/[a-z0-9][a-z0-9.+-]{0,80}$/u.test(trimmed))
    throw refused(`${where}.mediaType`, 'expected a media type such as image/png');
  return trimmed === 'image/jpg' ? 'image/jpeg' : trimmed;
};

const readName = (where: string, given: unknown, redact: (text: string) => string): string | undefined => {
  if (given === undefined || given === '') return undefined;
  if (
    typeof given !== 'string' ||
    given.length > nameCharsMax ||
    !given.isWellFormed() ||
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(given)
  )
    throw refused(`${where}.name`, `expected a name of at most ${nameCharsMax} printable characters`);
  return redact(given);
};

const readBytes = (where: string, given: unknown): Uint8Array => {
  // A copy: what was hashed is what is stored, whatever the caller does with its bytes.
  if (given instanceof Uint8Array) return Uint8Array.from(given);
  if (typeof given !== 'string') throw refused(`${where}.data`, 'expected bytes, or a string in base64');
  const [, data = given] = /^data:[^,]{0,200};base64,([^]*)$/u.exec(given) ?? [];
  if (/^(?:https?|file|ftp):/iu.test(data))
    throw refused(`${where}.data`, 'files are not fetched from a URL; send the bytes');
  const compact = data.replace(/[\r\n\t ]/gu, '');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/u.test(compact)) throw refused(`${where}.data`, 'it is not base64');
  return Uint8Array.from(Buffer.from(compact, 'base64'));
};

const isTextType = (mediaType: string): boolean =>
  mediaType.startsWith('text/') ||
  /^application\/(?:json|xml|yaml|x-yaml|toml|javascript|x-sh|sql|.*\+(?:json|xml))$/u.test(mediaType);

const readText = (where: string, bytes: Uint8Array): string => {
  if (bytes.byteLength > textBytesMax)
    throw refused(where, `${bytes.byteLength} bytes of text; the limit is ${textBytesMax}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refused(where, 'it is not UTF-8 text');
  }
};

const refused = (where: string, why: string): CloisterError =>
  new CloisterError('attachment_refused', `${where}: ${why}.`);

/** Throws `attachment_refused` if none of the models takes all of these files. */
export const checkModelsTake = (
  agent: string,
  models: readonly ModelSummary[],
  attachments: readonly StoredAttachment[],
): void => {
  const files = attachments.filter((one) => 'sha256' in one);
  if (files.length === 0) return;
  if (models.some((model) => unsupportedType(model, files) === undefined)) return;
  const types = [...new Set(files.map(({ mediaType }) => mediaType))].join(', ');
  throw new CloisterError(
    'attachment_refused',
    `No model of agent "${agent}" takes ${types}. The operator can allow it with "attachments" for one of its models in the config.`,
  );
};

/** The size of the texts among them, in bytes. */
export const attachedTextBytes = (attachments: readonly StoredAttachment[]): number =>
  attachments.reduce((sum, one) => sum + ('text' in one ? utf8Bytes(one.text) : 0), 0);
