// Providers that do not answer, as one cell sees them: for a while, their models are tried after those of others.
//
//   circuit-of-own-attempts. Whether a provider counts as failing follows from the cell's own settled attempts and their recorded
//       times, and from nothing else: what other cells or runs met with is not visible, and a replay decides alike.
//   circuit-only-orders. Every model is still tried if no other answers, so a run ends as it would have without.
import type { ErrorCode, Failure } from '#base';
import type { Model } from '#contracts';

/** `opened`: how often in a row. */
type OpenCircuit = { readonly opened: number; readonly until: number };

/** By provider. */
export type ProviderCircuits = ReadonlyMap<string, OpenCircuit>;

export const noCircuits: ProviderCircuits = new Map();

const [firstMs, longestMs] = [30_000, 300_000];

/** The provider does not work, whatever it is asked. */
const outageCodes: readonly ErrorCode[] = [
  'model_network',
  'model_server',
  'model_timeout',
  'model_rate',
  'model_auth',
];

/** Those of failing providers last, otherwise in their order. */
export const orderByCircuit = (models: readonly Model[], circuits: ProviderCircuits, now: number): readonly Model[] => {
  if (circuits.size === 0) return models;
  const isOpen = ({ language: { provider } }: Model): boolean => (circuits.get(provider)?.until ?? 0) > now;
  return [...models.filter((model) => !isOpen(model)), ...models.filter(isOpen)];
};

/** After a model was given up for this turn. */
export const openCircuit = (
  circuits: ProviderCircuits,
  { language: { provider } }: Model,
  { code, retryAfterMs = 0 }: Failure,
  now: number,
): ProviderCircuits => {
  if (!outageCodes.includes(code)) return circuits;
  const opened = 1 + (circuits.get(provider)?.opened ?? 0);
  const ms = Math.max(Math.min(firstMs * 2 ** (opened - 1), longestMs), retryAfterMs);
  return new Map(circuits).set(provider, { opened, until: now + ms });
};

/** After a model has answered. */
export const closeCircuit = (circuits: ProviderCircuits, { language: { provider } }: Model): ProviderCircuits =>
  circuits.has(provider) ? new Map([...circuits].filter(([name]) => name !== provider)) : circuits;
