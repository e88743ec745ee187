// Shortens two long texts so that the point where they differ stays visible.

const charsMax = 300;
const headChars = 60;
const beforeChars = 40;

/** Shows both texts from the start if that includes the difference; otherwise a short beginning and the text around the difference. */
export const truncateAroundDifference = (
  one: string,
  other: string,
): { readonly one: string; readonly other: string } => {
  const at = firstDifference(one, other);
  return { one: shorten(one, at), other: shorten(other, at) };
};

const firstDifference = (one: string, other: string): number => {
  const end = Math.min(one.length, other.length);
  let at = 0;
  while (at < end && one[at] === other[at]) at++;
  return at;
};

const shorten = (text: string, at: number): string => {
  if (text.length <= charsMax) return text;
  if (at < charsMax - beforeChars) return `${text.slice(0, charsMax)}…`.toWellFormed();
  const from = at - beforeChars;
  const to = from + charsMax - headChars;
  return `${text.slice(0, headChars)} … ${text.slice(from, to)}${to < text.length ? '…' : ''}`.toWellFormed();
};
