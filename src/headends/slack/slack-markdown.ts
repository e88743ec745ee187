// Markdown of agents as Slack's markdown blocks and streams take it: tables, headings, lists and code as they are, pictures as links,
// links with the host that they lead to, HTML as text.
//
//   markdown-prefix. What `toSlackMarkdown(text, false)` returns is how `toSlackMarkdown` begins for every text that begins with
//       `text`: it holds back words, lines and links that are not complete.
//   markdown-by-line. Each line depends only on itself and on whether it is in a code block.
import { escapeEntities, cutText, showHidden } from './slack-text.ts';
import { closesFence, openFence } from './code-fence.ts';
import type { Fence } from './code-fence.ts';

/** Of what follows the marks of a code block, which nobody sees: its line must fit into a message. */
const infoMax = 40;

/** `isWhole`: no more will follow. */
export const toSlackMarkdown = (text: string, isWhole = true): string => {
  const lines = showHidden(text).split('\n');
  let fence: Fence | undefined;
  return lines
    .map((line, index) => {
      const shown = isWhole || index < lines.length - 1 ? line : completePart(line, fence !== undefined);
      if (fence !== undefined) {
        if (!closesFence(shown, fence)) return escapeCode(shown);
        const { mark } = fence;
        fence = undefined;
        return mark;
      }
      fence = openFence(shown);
      return fence === undefined
        ? convertLine(shown, toLink)
        : `${fence.indent}${fence.mark}${escapeCode(cutText(fence.info, infoMax))}`;
    })
    .join('\n');
};

/** For text of section and context blocks, which have their own markup. Links are spelled out. */
export const toMrkdwn = (text: string, charsMax: number): string => {
  let fence: Fence | undefined;
  const lines = showHidden(text)
    .split('\n')
    .map((line) => {
      if (fence !== undefined) {
        if (!closesFence(line, fence)) return escapeEntities(line);
        fence = undefined;
        return '```';
      }
      fence = openFence(line);
      return fence === undefined ? toMrkdwnLine(line) : '```';
    });
  const whole = lines.join('\n');
  if (whole.length <= charsMax) return whole;
  const cut = cutText(whole, charsMax - closingFence.length);
  return (cut.match(/^```$/gmu)?.length ?? 0) % 2 === 0 ? cut : cut + closingFence;
};

const closingFence = '\n```';

const inlineToken = new RegExp(
  [
    String.raw`(?<escaped>\\[\\\x60*_[\]!#])`,
    String.raw`(?<code>(?<!\x60)(?<ticks>\x60+)(?!\x60)[^\n]{0,500}?(?<!\x60)\k<ticks>(?!\x60))`,
    String.raw`!?\[(?<label>[^[\]\n]{0,300})\]\(\s*<?(?<target>[^\s()<>]{1,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500})?)>?(?:\s+(?:"[^"]{0,300}"|'[^']{0,300}'))?\s*\)`,
    String.raw`<(?<address>[a-z][a-z0-9+.\-]{1,20}:[^\s<>|]{1,2000})>`,
    String.raw`(?<url>https?:\/\/[^\s<>]{1,2000})`,
  ].join('|'),
  'giu',
);

/** The beginning of one of them, at the end of a line. */
const unclosedToken = new RegExp(
  [
    String.raw`\\$`,
    String.raw`\x60[^\n]{0,520}$`,
    String.raw`!?\[[^[\]\n]{0,300}(?:\](?:\(\s*<?[^\s()<>]{0,2000}(?:\([^\s()<>]{0,500}\)?[^\s()<>]{0,500})?>?(?:\s+(?:"[^"]{0,300}"?|'[^']{0,300}'?)?\s*)?)?)?$`,
    String.raw`<[^\s<>]{0,2030}$`,
  ].join('|'),
  'iu',
);

/** As much of a line that may grow as nothing that follows can change. */
const completePart = (line: string, isCode: boolean): string => {
  if (isCode ? /^[ >]*[`~]*\s*$/u.test(line) : /^[ >]*(?:(?:[-*+]|\d{1,9}[.)]) +)?(?:[`~]{0,2}$|`{3}|~{3})/u.test(line))
    return '';
  const masked = isCode ? line : line.replace(inlineToken, (token) => '.'.repeat(token.length));
  const end = isCode ? -1 : masked.search(unclosedToken);
  return line.slice(0, Math.max(0, masked.lastIndexOf(' ', end < 0 ? masked.length : end)));
};

type LinkText = (label: string, target: string) => string;

const convertLine = (line: string, link: LinkText): string => {
  let converted = '';
  let end = 0;
  for (const match of line.matchAll(inlineToken)) {
    converted += escapeText(line.slice(end, match.index)) + convertToken(match, link);
    end = match.index + match[0].length;
  }
  // The definition of a link that is used elsewhere: such a link would not show where it leads.
  const whole = (converted + escapeText(line.slice(end))).replace(/^([ >]*\[[^\]]+\]):/u, '$1 :');
  // What is harmless in code may be the beginning of a sequence that ends after it.
  return escapeCode(whole);
};

const convertToken = (match: RegExpExecArray, link: LinkText): string => {
  const { escaped, code, label, target, address } = match.groups ?? {};
  if (escaped !== undefined) return escaped;
  if (code !== undefined) return escapeCode(code);
  if (target !== undefined) return link(escapeText(label ?? ''), target);
  return address ?? match[0];
};

/** Also inside code: only what Slack could take for one of its own sequences, because it may not decode entities there. */
const escapeCode = (text: string): string => text.replace(/<(?=[!@#]|[a-z][a-z0-9+.-]*:|[^\s>|]*\|)/giu, '&lt;');

const escapeText = (text: string): string =>
  text
    .replace(/&(?=#?\w{1,32};)/gu, '&amp;')
    .replaceAll(String.raw`\<`, '<')
    .replaceAll('<', '&lt;');

const looksLikeAddress = /^\S+\.\S+$|:\/\//u;

const toLink: LinkText = (label, target) => {
  const host = hostOf(target);
  const text = label.trim() === '' ? (host ?? '') : label;
  if (host === undefined) return `${text} (${escapeText(target)})`;
  if (!looksLikeAddress.test(text)) return `[${text}](${target}) (${host})`;
  return hostOf(/:\/\//u.test(text) ? text : `https://${text}`) === host
    ? `[${text}](${target})`
    : `${text} (${target})`;
};

/** Undefined: nothing that Slack could open. */
const hostOf = (target: string): string | undefined => {
  const url = /^https?:\/\//iu.test(target) ? URL.parse(target) : null;
  return url === null || url.host === '' ? undefined : url.host;
};

const toMrkdwnLine = (line: string): string => {
  const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/u.exec(line)?.[1];
  if (heading !== undefined) return heading === '' ? '' : `*${emphasize(heading).replaceAll('*', '')}*`;
  if (/^\s*\|.*\|\s*$/u.test(line)) return `\`${escapeEntities(line.trim().replaceAll('`', "'"))}\``;
  const [, indent = '', quote = '', bullet = '', rest = ''] = /^(\s*)((?:>\s?)*)([-*+]\s+)?(.*)$/u.exec(line) ?? [];
  return `${indent}${quote === '' ? '' : '> '}${bullet === '' ? '' : '• '}${emphasize(rest)}`;
};

const emphasize = (line: string): string => {
  let converted = '';
  let end = 0;
  for (const match of line.matchAll(inlineToken)) {
    converted += markText(line.slice(end, match.index)) + markToken(match);
    end = match.index + match[0].length;
  }
  return converted + markText(line.slice(end));
};

const markToken = (match: RegExpExecArray): string => {
  const { escaped, code, label, target, address, ticks = '' } = match.groups ?? {};
  if (escaped !== undefined) return escapeEntities(escaped.slice(1));
  if (code !== undefined) return `\`${escapeEntities(code.slice(ticks.length, -ticks.length).replaceAll('`', "'"))}\``;
  if (target !== undefined) return escapeEntities(label === '' ? target : `${label} (${target})`);
  return escapeEntities(address ?? match[0]);
};

const markText = (text: string): string =>
  escapeEntities(text)
    .replace(/(?<![\w*])\*(?![\s*])([^*\n]{1,500}?)(?<!\s)\*(?![\w*])/gu, '_$1_')
    .replace(/(\*\*|__)(?!\s)([^\n]{1,500}?)(?<!\s)\1/gu, '*$2*')
    .replace(/~~(?!\s)([^~\n]{1,500}?)(?<!\s)~~/gu, '~$1~');
