// Connects to a Slack, disconnects, and must then end by itself: nothing of the SDK may keep the process alive.
import * as bolt from '@slack/bolt';
import { SlackSocket } from '#adapters/slack';

const [url = '', appToken = ''] = process.argv.slice(2);

const socket = new SlackSocket(bolt, {
  appToken,
  team: 'T1',
  url,
  clock: {
    now: Date.now,
    timer: (ms, due) => {
      const timer = setTimeout(due, ms);
      return () => clearTimeout(timer);
    },
  },
  receive: async () => undefined,
  log: console.log,
});
await socket.start();
console.log('connected');
await socket.stop();
console.log('stopped');
