export { connectModel } from './connect-model.ts';
export { loadPriceList, withKnownFacts } from './listed-price.ts';
export { modelFacts, similarModel } from './model-facts.ts';
