export { replyOf } from './web-api.ts';
