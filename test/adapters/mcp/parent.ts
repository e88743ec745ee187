// A process that holds sessions of servers, and is killed: started by processes.test.ts.
import { mcpSource } from '#adapters/mcp';
import { callText, live } from '../../conformance/tool-source.ts';
import { stdioServer } from './peers.ts';

const source = mcpSource(stdioServer('hostile-stdio.ts'));
const sessions = await Promise.all([source.list({ signal: live() }), source.list({ signal: live() })]);
const families = await Promise.all(sessions.map(async (listed) => callText(listed, 'family')));
console.log(JSON.stringify(families.flatMap((family) => JSON.parse(family) as number[])));
