// Redacts secrets that no single text of a reply contains in full: split over two parts, or with escaped characters.
import type { ModelReply, ReplyPart } from '#contracts';

type RedactText = (text: string) => string;

/** Returns the reply without such secrets. Secrets within one part are redacted when the step settles. */
export const redactReply = (reply: ModelReply, redact: RedactText): ModelReply => {
  const parts = reply.parts.map((part) => withoutEscaped(part, redact));
  const texts = parts.filter((part) => part.type === 'text');
  const joined = texts.map(({ text }) => text).join('');
  if (texts.length < 2 || redact(joined) === texts.map(({ text }) => redact(text)).join('')) return { ...reply, parts };
  const [first] = texts;
  const whole: ReplyPart = { type: 'text', text: redact(joined) };
  return {
    ...reply,
    parts: parts
      .filter((part) => part === first || part.type !== 'text')
      .map((part) => (part === first ? whole : part)),
  };
};

const withoutEscaped = (part: ReplyPart, redact: RedactText): ReplyPart => {
  const text = part.type === 'call' ? part.input : part.text;
  const plain = unescaped(text);
  if (plain === text || redact(plain) === plain) return part;
  return part.type === 'call' ? { ...part, input: redact(plain) } : { ...part, text: redact(plain) };
};

/** Unescapes printable characters, except those that JSON requires to be escaped. */
const unescaped = (text: string): string =>
  text.includes('\\u00')
    ? text.replace(/\\u00([2-7][0-9a-f])/giu, (escape, hex: string) => {
        const char = String.fromCharCode(Number.parseInt(hex, 16));
        return char === '"' || char === '\\' || char === '\u007f' ? escape : char;
      })
    : text;
