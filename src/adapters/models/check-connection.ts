// What would go wrong at the first call, said when the model is connected. No message shows a value: any of them may be secret.
import { CloisterError } from '#base';
import type { ResolvedProvider } from '#contracts';

export const checkConnection = (provider: ResolvedProvider, modelId: string): void => {
  const { name, baseUrl, apiKey, headers } = provider;
  const invalid = (key: string, what: string): never => {
    throw new CloisterError('config_invalid', `providers.${name}.${key} ${what}`);
  };
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !/^https?:$/u.test(url.protocol))
    invalid('baseUrl', 'must be an address that begins with http:// or https://.');
  if (url!.username !== '' || url!.password !== '')
    invalid('baseUrl', 'must hold no user name or password: use `apiKey` or `headers`.');
  if (url!.search !== '' || url!.hash !== '') invalid('baseUrl', 'must end with its path: no ? and no #.');
  if (!isHeader('x', apiKey)) invalid('apiKey', 'holds a line break or a character that no HTTP header can carry.');
  for (const [header, value] of Object.entries(headers))
    if (!isHeader(header, value)) invalid('headers', `has an entry that is not an HTTP header: ${header}`);
  if (modelId.trim() === '')
    throw new CloisterError('model_unknown', `Name a model of ${name}: ${name}/<model>, not ${name}/ alone.`);
  // Google's model name is a part of the address: it must not lead elsewhere on that host.
  if (provider.type === 'google' && !/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/u.test(modelId))
    throw new CloisterError('model_unknown', `${name}/${modelId} is not the name of a Google model.`);
};

const isHeader = (name: string, value: string): boolean => {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
};
