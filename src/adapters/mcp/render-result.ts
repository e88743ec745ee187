// Renders a tool result as text for a model.
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import { CloisterError } from '#base';
import type { Json } from '#base';
import type { ToolOutput } from '#contracts';
import { formatCount } from './limits.ts';

/** Throws `tool_failed` when the server reports an error of the tool. */
export const renderResult = (result: CallToolResult): ToolOutput => {
  const content = result.content ?? [];
  const { structuredContent } = result;
  const text = content.map(partText).join('\n');
  if (result.isError === true)
    throw new CloisterError('tool_failed', text === '' ? jsonText(structuredContent) || undefined : text);
  if (structuredContent === undefined || content.some(hasText)) return withType(text, content);
  if (content.length === 0) return { type: 'json', value: structuredContent as Json };
  return `${jsonText(structuredContent)}\n${text}`;
};

/** A single resource says what its text is. */
const withType = (text: string, [only, ...others]: readonly ContentBlock[]): ToolOutput =>
  only?.type === 'resource' && 'text' in only.resource && others.length === 0 && only.resource.mimeType !== undefined
    ? { type: 'text', value: text, mediaType: only.resource.mimeType }
    : text;

const hasText = (part: ContentBlock): boolean =>
  part.type === 'text' || (part.type === 'resource' && 'text' in part.resource);

const partText = (part: ContentBlock): string => {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.type} ${part.mimeType}, ${sizeText(part.data)}: not shown]`;
    case 'resource':
      return 'text' in part.resource
        ? part.resource.text
        : `[resource ${part.resource.mimeType ?? part.resource.uri}, ${sizeText(part.resource.blob)}: not shown]`;
    case 'resource_link':
      return `[resource ${part.name}, ${part.uri}: not shown]`;
  }
};

const sizeText = (base64: string): string => `${formatCount(Buffer.byteLength(base64, 'base64'))} bytes`;

const jsonText = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));
