export { connectModel } from './connect-model.ts';
export type { ConnectOptions } from './connect-model.ts';
export { modelFacts } from './model-facts.ts';
