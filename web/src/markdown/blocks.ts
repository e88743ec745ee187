// Markdown in pieces that are read alone: while a text is being written, only its last piece changes, so only that is read again.

/** Ends of blocks are blank lines outside of fences, unless what follows belongs to a list above. */
export const splitBlocks = (text: string): readonly string[] => {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  let isAfterBlank = false;
  const end = (): void => {
    const block = lines.join('\n').trimEnd();
    if (block !== '') blocks.push(block);
    lines = [];
  };
  for (const line of text.split('\n')) {
    const isBlank = line.trim() === '';
    if (fence === null && isAfterBlank && !isBlank && !continues(lines, line)) end();
    lines.push(line);
    fence = fenceAfter(fence, line);
    isAfterBlank = isBlank && fence === null;
  }
  end();
  return blocks;
};

const listItem = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/u;

/** After a blank line, what is indented continues the block above; an item continues a list. */
const continues = (block: readonly string[], line: string): boolean => {
  if (block.length === 0) return true;
  return /^(?: {2,}|\t)/u.test(line) || (listItem.test(line) && listItem.test(block[0]!));
};

/** The fence that is open after this line; null: none. */
const fenceAfter = (open: string | null, line: string): string | null => {
  const [, marks = '', rest = ''] = /^\s*(`{3,}|~{3,})(.*)$/u.exec(line) ?? [];
  if (marks === '') return open;
  if (open === null) return marks.startsWith('`') && rest.includes('`') ? null : marks;
  return marks.startsWith(open[0]!) && marks.length >= open.length && rest.trim() === '' ? null : open;
};

/** Link definitions, which any block may use, wherever they stand. */
export const linkDefinitions = (text: string): string =>
  text.includes(']:') ? (text.match(/^ {0,3}\[[^\]\n]{1,200}\]:[^\n]+$/gmu) ?? []).join('\n') : '';

/** The address of a link that a page may offer; null: it is shown as text. */
export const safeLink = (href: string): string | null => {
  if (!/^(?:https?:\/\/|mailto:)/iu.test(href)) return null;
  return URL.canParse(href) ? new URL(href).href : null;
};

/** A picture that is in the text itself. Others would be fetched from elsewhere. */
export const safeImage = (href: string): string | null =>
  /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/u.test(href) ? href : null;

const signs = /^(?:#{1,6} |[-*+] |\d+[.)] |>|```|~~~|\|.+\|)|\*\*[^*\n]+\*\*|`[^`\n]+`|\[[^\]\n]+\]\([^)\n]+\)/mu;

/** Whether a text of an agent whose format nobody knows is meant as Markdown. */
export const looksLikeMarkdown = (text: string): boolean => signs.test(text.slice(0, 4_000));

/** The value of a text that is a JSON object or list; undefined: it is not. */
export const parsedJson = (text: string): unknown => {
  const trimmed = text.trim();
  if (!/^[[{]/u.test(trimmed) || !/[\]}]$/u.test(trimmed)) return undefined;
  try {
    return JSON.parse(trimmed) as unknown;
  } catch {
    return undefined;
  }
};
