// The token in the link of the page.
//
//   token-link-clean. Whatever stands in the place of a token leaves the address, and only what the server could take is used.

/** Null: the link has no place for a token. `token`: null if what stands there is none. `rest`: the address without it. */
export const readTokenLink = (hash: string): { readonly token: string | null; readonly rest: string } | null => {
  const found = /^#token=([^&]*)(?:&(.*))?$/u.exec(hash);
  if (found === null) return null;
  const [, given = '', rest = ''] = found;
  const token = decode(given);
  return { token: isToken(token) ? token : null, rest: rest === '' ? '' : `#${rest}` };
};

/** No header could be made of many other texts, and that would look like a server that does not answer. */
export const isToken = (text: string): boolean => /^[\w.~+/-]+=*$/u.test(text);

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
