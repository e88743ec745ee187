// The test server as a process. It writes its pid to the given folder.
import { writeFileSync } from 'node:fs';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { newState, peerServer } from './peer-server.ts';

writeFileSync(`${process.argv[2]}/${process.pid}`, '');
const state = newState(() => process.exit(7));
serveStdio(() => peerServer(state));
