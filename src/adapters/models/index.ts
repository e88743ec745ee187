export { connectModel } from './connect-model.ts';
export { modelFacts, similarModel } from './model-facts.ts';
