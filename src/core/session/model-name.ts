import type { Model } from '#contracts';

export const modelName = (model: Model): string => modelNames(model).name;

/** The name of the step that asks it. */
export const modelStepName = (model: Model): string => modelNames(model).step;

type Names = { readonly name: string; readonly step: string };

const namesByModel = new WeakMap<Model, Names>();

/** Built once per model and shared by all of its requests. */
const modelNames = (model: Model): Names => {
  let names = namesByModel.get(model);
  if (names === undefined) {
    const name = `${model.language.provider}/${model.language.modelId}`;
    namesByModel.set(model, (names = { name, step: `model:${name}` }));
  }
  return names;
};
