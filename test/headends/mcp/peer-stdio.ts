// The test server on our stdio transport. While it runs, the given folder holds a file named after its process id.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as library from '@modelcontextprotocol/server';
import { serveStreams } from '#testing/headends/mcp';
import { newState, peerServer } from '../../adapters/mcp/peer-server.ts';

const file = join(process.argv[2]!, String(process.pid));
writeFileSync(file, '');
const state = newState(() => process.kill(process.pid, 'SIGKILL'));
const streams = { input: process.stdin, output: process.stdout };
const { ended } = await serveStreams(library, () => peerServer(state), { name: 'me' }, streams);
await ended;
rmSync(file);
