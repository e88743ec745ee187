// Prepares a model that a file names, so that each session can get a new instance.
import { CloisterError } from '#base';
import type { AgentNeeds, Model, Overlay, ProviderConfig } from '#contracts';
import { connectModel, modelFacts } from '#adapters/models';
import { fillProvider, missingVariablesMessage } from '#core/registry';
import type { SourcedConfig } from '#core/registry';

type ModelContext = {
  readonly sourced: SourcedConfig<ProviderConfig>;
  readonly caching: AgentNeeds['caching'];
  readonly inspectOnly: boolean;
};

/** `missing`: variables of its provider that have no value. Then the model exists, but every request fails. */
type ModelValues = { readonly overlay: Overlay; readonly missing: readonly string[] };

/** Fills in values; what it returns makes a new instance each time. */
export type FillModel = (values: ModelValues) => () => Model;

export const prepareModel = async (
  name: string,
  { sourced, caching, inspectOnly }: ModelContext,
): Promise<FillModel> => {
  const config = sourced.value;
  const at = name.indexOf('/');
  const [provider, id] = [name.slice(0, at), name.slice(at + 1)];
  const configured = config.models?.[id];
  if (config.type === 'rehearsal') {
    // Loaded here, because no run with real models needs the testkit.
    const { prepareRehearsal } = await import('./prepare-rehearsal.ts');
    const make = await prepareRehearsal(id, config.script, {
      provider,
      folder: sourced.folder,
      configured,
      inspectOnly,
    });
    return () => make;
  }
  const facts = { ...(await modelFacts(config.type, id, new Date())), ...configured };
  return ({ overlay, missing }) => {
    if (missing.length > 0) return () => ({ ...facts, language: keylessModel(provider, id, missing) });
    const filled = fillProvider(provider, config, overlay);
    return () => ({ ...facts, language: connectModel(filled, id, { caching }) });
  };
};

/** A run that was started with this model can be replayed without its key, and resumed: the next model is tried. */
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
