export { identifyApp } from './check-app.ts';
export { loadBolt } from './load-bolt.ts';
export { signedRoute, slackEventsPath } from './signed-requests.ts';
export { SlackSocket } from './socket.ts';
export { openWebApi } from './web-api.ts';
