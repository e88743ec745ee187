export { StoreEngine } from './store-engine.ts';
