import type { PromptPart } from '#contracts';

type Message = Extract<PromptPart, { message: unknown }>['message'];
type Content = Exclude<Message['content'], string>[number];

/** The readable text of a part: texts, call inputs, tool results, schemas. */
export const partText = (part: PromptPart): string => {
  if ('tool' in part) return JSON.stringify(part.tool, null, 2);
  const { content } = part.message;
  return typeof content === 'string' ? content : content.map(contentText).join('\n');
};

const contentText = (content: Content): string => {
  if (content.type === 'text' || content.type === 'reasoning') return content.text;
  if (content.type === 'tool-call') return `${content.toolName} ${JSON.stringify(content.input)}`;
  if (content.type === 'file' && content.data.type === 'reference') return `(file ${content.data.reference['sha256']})`;
  if (content.type !== 'tool-result') return JSON.stringify(content);
  const { output } = content;
  return 'value' in output && typeof output.value === 'string' ? output.value : JSON.stringify(output);
};
