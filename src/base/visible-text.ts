/** What a reader cannot see, or could take for a space: controls, formats, fillers, and marks that pile up. */
const hidden =
  /(?![ \n])[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]|(?<=\p{M}{2})\p{M}/gu;

/** For whoever decides by what they read: whatever could hide or pretend to be something else is escaped as in JSON. */
export const escapeHidden = (text: string): string => text.replace(hidden, escapeUnits);

const escapeUnits = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

const lineBreak = /\r\n|[\r\v\f\u0085\u2028\u2029]/gu;

/** The same lines, with `\n` between them. */
export const unifyLineBreaks = (text: string): string => text.replace(lineBreak, '\n');
