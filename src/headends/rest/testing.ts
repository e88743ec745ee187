// What only tests use of this room.
export { readQuery, readRestBody } from './described-route.ts';
export { openapiDocument } from './openapi-document.ts';
export { awaitAnswer } from './ask-agent.ts';
