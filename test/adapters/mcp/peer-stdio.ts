// The test server as a process. It leaves its number in the folder it is given.
import { writeFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { newState, peerServer } from './peer-server.ts';

writeFileSync(`${process.argv[2]}/${process.pid}`, '');
const state = newState(() => process.exit(7));
serveStdio(() => peerServer(state));
