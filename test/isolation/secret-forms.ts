// Two secrets whose characters differ in every encoding, and a search for any form of them. Nobody can guess either of their
// parts, so they are redacted in every cell.

/** Sent in a header: a provider's key. */
export const apiKey = 'sk-live/"Q\\x+z=&%<a7Rw4Nv2 b>~7Kw9Zt3Hs6Yq1Xd5Lm';
/** Passed to a process: a server's token. */
export const token = 'tøk"𝒳"/+\\4kV9sQ2mX7wJ5pH8dF3 9f&%~Zq?8Lp3Rt6Yh1Bn';

/** A text that holds a secret, encoded as one: only the middle of the secret's part is always the same. */
export const base64At = (secret: string, before: number): string =>
  Buffer.from(`${'x'.repeat(before)}${secret} and more`).toString('base64');

type Form = { readonly name: string; readonly text: string };

const base64Middle = (secret: string, before: number): string => {
  const bytes = Buffer.from(secret).length;
  const first = Math.ceil((before * 8) / 6);
  const last = Math.floor(((before + bytes) * 8) / 6);
  return base64At(secret, before).slice(first, last);
};

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

const formsOf = (secret: string): readonly Form[] => {
  const base64 = [0, 1, 2].map((before) => base64Middle(secret, before));
  return [
    { name: 'raw', text: secret },
    { name: 'JSON', text: inJson(secret) },
    { name: 'JSON in JSON', text: inJson(inJson(secret)) },
    { name: 'URL', text: encodeURIComponent(secret) },
    { name: 'form', text: new URLSearchParams({ s: secret }).toString().slice(2) },
    { name: 'hex', text: Buffer.from(secret).toString('hex') },
    ...base64.map((text, at) => ({ name: `base64 at ${at}`, text })),
    ...base64.map((text, at) => ({ name: `base64url at ${at}`, text: text.replaceAll('+', '-').replaceAll('/', '_') })),
  ];
};

const forms: readonly Form[] = [apiKey, token].flatMap((secret) => [
  ...formsOf(secret),
  // A remaining part, from the beginning or the end of a secret.
  { name: 'beginning', text: secret.slice(0, 10) },
  { name: 'end', text: secret.slice(-10) },
]);

/** Names of the forms found in bytes or in text. */
export const secretsIn = (content: Uint8Array | string): readonly string[] => {
  const bytes = Buffer.from(content);
  return [...new Set(forms.filter(({ text }) => bytes.includes(text)).map(({ name }) => name))];
};
