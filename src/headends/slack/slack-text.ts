// Text on its way to Slack and from it. Nothing leaves but through `toSlackMarkdown`, `toMrkdwn` or `toPlainText`.
//
//   text-no-control. What leaves has none of Slack's control sequences (`<!channel>`, `<@U1>`, `<#C1>`, `<url|label>`), so it notifies
//       nobody, and no link in it hides where it leads.
//   text-visible. Characters that nobody can see, or that change the direction of others, are escaped as in JSON.
import { escapeHidden, unifyLineBreaks } from '#base';

/** Emoji as Unicode recommends them; without joiners and selectors many would fall apart. */
const emoji = new RegExp(String.raw`(\p{RGI_Emoji})`, 'v');
const joiningLetter = String.raw`[\p{Script=Arabic}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gujarati}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Tamil}\p{Script=Telugu}]`;
/** Part of the spelling in these scripts. */
const joiner = new RegExp(String.raw`((?<=${joiningLetter})[\u200C\u200D](?=${joiningLetter}))`, 'u');

/** With everything visible, one kind of line break, and spaces for all kinds of space. */
export const showHidden = (text: string): string => {
  const spaced = unifyLineBreaks(text)
    .replaceAll('\t', '    ')
    .replace(/\p{Zs}/gu, ' ');
  if (/^[ -~\n]*$/u.test(spaced)) return spaced;
  return splitKeeping(spaced, emoji, (part) => splitKeeping(part, joiner, escapeHidden));
};

/** Every second part is what the pattern matched. */
const splitKeeping = (text: string, kept: RegExp, change: (part: string) => string): string =>
  text
    .split(kept)
    .map((part, index) => (index % 2 === 1 ? part : change(part)))
    .join('');

let segmenter: Intl.Segmenter | undefined;

/** The last place at or before `index` that is between two characters as people see them, and not inside an entity such as `&lt;`. */
export const characterBoundary = (text: string, index: number): number => {
  if (index >= text.length) return text.length;
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' });
  // A character needs the text before it only as far as it is one character with it.
  const from = Math.max(0, index - 200);
  const boundary = from + (segmenter.segment(text.slice(from, index + 200)).containing(index - from)?.index ?? 0);
  const entity = /&#?\w{0,8}$/u.exec(text.slice(Math.max(0, boundary - 10), boundary));
  if (entity === null || !/^#?\w{0,8};/u.test(text.slice(boundary, boundary + 10))) return boundary;
  return boundary - entity[0].length;
};

/** At most so many characters, with an ellipsis where something is missing. */
export const cutText = (text: string, charsMax: number): string =>
  text.length <= charsMax ? text : `${text.slice(0, characterBoundary(text, charsMax - 1)).trimEnd()}…`;

/** For fields of type `plain_text`: titles, buttons, headers. On one line. */
export const toPlainText = (text: string, charsMax: number): string =>
  cutText(escapeEntities(showHidden(text).replace(/\s+/gu, ' ').trim()), charsMax);

/** As Slack asks for it: these three, and no others. */
export const escapeEntities = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** In text as Slack delivers it. */
export const mentionsUser = (text: string, user: string): boolean =>
  text.includes(`<@${user}>`) || text.includes(`<@${user}|`);

const slackToken = /<([^<>]*)>|&(lt|gt|amp);/gu;
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&' };

/** What a person wrote, readable for a model: without mentions of this app, entities and control sequences. */
export const fromSlackText = (text: string, botUser: string): string =>
  text
    .replaceAll(new RegExp(String.raw`<@${botUser.replaceAll(/\W/gu, '')}(?:\|[^<>]*)?>[ ,:]*`, 'gu'), '')
    .replace(slackToken, (_, token: string | undefined, entity: string | undefined) =>
      entity === undefined ? readToken(token ?? '') : entities[entity]!,
    )
    .trim();

const readToken = (token: string): string => {
  const [target = '', ...labels] = token.split('|').map(decodeEntities);
  const label = labels.join('|');
  switch (target[0]) {
    case '@':
    case '#':
      return label === '' ? target : `${target[0]}${label.replace(/^[@#]/u, '')}`;
    case '!':
      return label === '' ? `@${target.slice(1).replace(/\^.*$/u, '')}` : label;
    case undefined:
      return '<>';
    default: {
      const address = target.replace(/^(?:mailto|tel):/u, '');
      return label === '' || label === address || target.replace(/^https?:\/\//u, '') === label
        ? address
        : `${label} (${address})`;
    }
  }
};

export const decodeEntities = (text: string): string =>
  text.replace(/&(lt|gt|amp);/gu, (_, entity: string) => entities[entity]!);
