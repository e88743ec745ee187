export { BodyBudget } from './body-budget.ts';
export { buildApp } from './build-app.ts';
export type { AnsweredRequest, HttpApp } from './build-app.ts';
export { Gate } from './gate.ts';
export { defaultLimits } from './limits.ts';
export type { HttpLimits } from './limits.ts';
export { listen } from './listen.ts';
export type { HttpListener } from './listen.ts';
export { socketUpgrade } from './sockets.ts';
