// Prepares a model that a file names, so that each session can get a new instance.
import { CloisterError } from '#base';
import type { AgentNeeds, Model, Overlay, ProviderConfig } from '#contracts';
import { connectModel, modelFacts } from '#adapters/models';
import { fillProvider, missingVariablesMessage } from '#core/registry';
import type { SourcedConfig } from '#core/registry';

type ModelContext = {
  readonly sourced: SourcedConfig<ProviderConfig>;
  readonly overlay: Overlay;
  readonly caching: AgentNeeds['caching'];
  readonly inspectOnly: boolean;
  /** Variables of its provider that have no value. Then the model exists, but every request fails. */
  readonly missing: readonly string[];
};

export const prepareModel = async (
  name: string,
  { sourced, overlay, caching, inspectOnly, missing }: ModelContext,
): Promise<() => Model> => {
  const config = sourced.value;
  const at = name.indexOf('/');
  const [provider, id] = [name.slice(0, at), name.slice(at + 1)];
  const configured = config.models?.[id];
  if (config.type === 'rehearsal') {
    // Loaded here, because no run with real models needs the testkit.
    const { prepareRehearsal } = await import('./prepare-rehearsal.ts');
    return prepareRehearsal(id, config.script, { provider, folder: sourced.folder, configured, inspectOnly });
  }
  const facts = { ...(await modelFacts(config.type, id, new Date())), ...configured };
  if (missing.length > 0) return () => ({ ...facts, language: keylessModel(provider, id, missing) });
  const filled = fillProvider(provider, config, overlay);
  return () => ({ ...facts, language: connectModel(filled, id, { caching }) });
};

/** A run that was started with this model can be resumed without its key: the next model is tried. */
const keylessModel = (provider: string, modelId: string, missing: readonly string[]): Model['language'] => {
  const refuse = (): Promise<never> =>
    Promise.reject(new CloisterError('env_missing', missingVariablesMessage(missing)));
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    doGenerate: refuse,
    doStream: refuse,
  };
};
