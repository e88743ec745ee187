// Reports when the model is connected what would fail at the first call. Messages never show a value, because it may be a secret.
import { CloisterError } from '#base';
import type { ResolvedProvider } from '#contracts';

export const checkConnection = (provider: ResolvedProvider, modelId: string): void => {
  const { name, baseUrl, apiKey, headers } = provider;
  const invalid = (key: string, what: string): never => {
    throw new CloisterError('config_invalid', `providers.${name}.${key} ${what}`);
  };
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/u.test(url.protocol))
    invalid('baseUrl', 'must be a URL that starts with http:// or https://.');
  if (url!.username !== '' || url!.password !== '')
    invalid('baseUrl', 'must not contain a user name or password; use `apiKey` or `headers`.');
  if (url!.search !== '' || url!.hash !== '') invalid('baseUrl', 'must not contain a query (?) or a fragment (#).');
  if (!isHeader('x', apiKey))
    invalid('apiKey', 'contains a line break or another character that is not allowed in an HTTP header.');
  for (const [header, value] of Object.entries(headers))
    if (!isHeader(header, value)) invalid('headers', `contains an invalid HTTP header: ${header}`);
  if (modelId.trim() === '')
    throw new CloisterError('model_unknown', `The model name is missing: write ${name}/<model>, not ${name}/ alone.`);
};

const isHeader = (name: string, value: string): boolean => {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
};
