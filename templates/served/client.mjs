// Asks the agent over HTTP: `CLOISTER_TOKEN=<token> node client.mjs "What about backups?"`, while `cloister serve` runs.
const { CLOISTER_TOKEN: token = '', CLOISTER_URL: url = 'http://127.0.0.1:8787' } = process.env;
const [, , input = 'What about backups?'] = process.argv;

const reply = await fetch(`${url}/v1/lead`, {
  method: 'POST',
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ input }),
});
const { output, error } = await reply.json();
console.log(reply.ok ? output : `${reply.status}: ${error?.message ?? error?.code}`);
process.exitCode = reply.ok ? 0 : 1;
