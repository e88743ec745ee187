// A process that holds server sessions and is then killed. Started by processes.test.ts.
import { mcpSource } from '#adapters/mcp';
import { callText, unabortedSignal } from '../../conformance/tool-source.ts';
import { stdioServer } from './peers.ts';

const source = mcpSource(stdioServer('hostile-stdio.ts'));
const sessions = await Promise.all([
  source.list({ signal: unabortedSignal() }),
  source.list({ signal: unabortedSignal() }),
]);
const families = await Promise.all(sessions.map(async (listed) => callText(listed, 'family')));
console.log(JSON.stringify(families.flatMap((family) => JSON.parse(family) as number[])));
