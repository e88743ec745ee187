// The test server behind our standard input and output. While it lives, its process id is a file in the folder that it is given.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as library from '@modelcontextprotocol/server';
import { serveStreams } from '../../../src/headends/mcp/serve-mcp-stdio.ts';
import { newState, peerServer } from '../../adapters/mcp/peer-server.ts';

const file = join(process.argv[2]!, String(process.pid));
writeFileSync(file, '');
const state = newState(() => process.kill(process.pid, 'SIGKILL'));
const streams = { input: process.stdin, output: process.stdout };
const { ended } = await serveStreams(library, () => peerServer(state), { name: 'me' }, streams);
await ended;
rmSync(file);
