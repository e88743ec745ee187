export { connectModel } from './connect-model.ts';
export { loadPriceList, withKnownFacts } from './known-facts.ts';
export { modelFacts, similarModel } from './model-facts.ts';
