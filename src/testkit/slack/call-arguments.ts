// The arguments of a call over HTTP: a form, or JSON.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

const jsonFields = new Set(['attachments', 'blocks', 'chunks', 'files', 'metadata', 'view']);
const flagFields = new Set(['include_all_metadata', 'inclusive', 'reply_broadcast', 'unfurl_links', 'unfurl_media']);

export const readCallArguments = (body: string, contentType: string): JsonObject => {
  if (contentType.startsWith('application/json')) {
    const value = parseJson(body);
    return isObject(value) ? value : {};
  }
  return Object.fromEntries([...new URLSearchParams(body)].map(([key, text]) => [key, readField(key, text)]));
};

const readField = (key: string, text: string): Json => {
  if (jsonFields.has(key)) return parseJson(text) ?? text;
  if (flagFields.has(key)) return text === 'true' || text === '1';
  return text;
};

/** Undefined if it is not JSON. */
export const parseJson = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

/** A file from a form, or the body as it is. */
export const readFileText = async (body: Buffer, contentType: string): Promise<string> => {
  if (!contentType.startsWith('multipart/form-data')) return body.toString('utf8');
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData();
  for (const part of form.values()) return typeof part === 'string' ? part : part.text();
  return '';
};
