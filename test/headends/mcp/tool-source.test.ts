import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as library from '@modelcontextprotocol/server';
import { mcpSource } from '#adapters/mcp';
import type { AdmittedRequest } from '#contracts';
import { routesFor } from '#testing/headends/mcp';
import { newState, peerServer } from '../../adapters/mcp/peer-server.ts';
import { isAlive } from '../../adapters/mcp/processes.ts';
import { compileCache } from '../../compile-cache.ts';
import { conformToolSource } from '../../conformance/tool-source.ts';
import type { Peer } from '../../conformance/tool-source.ts';
import { routedApp, serveRoutes, testWorld } from './driver.ts';
import type { RunningApp } from './driver.ts';

/** Cloister's own client of MCP servers, on the transports of Cloister's own server. */
const remotePeer = async (type: 'http' | 'sse' | 'websocket'): Promise<Peer> => {
  let harness: RunningApp | undefined;
  const state = newState(() => harness?.drop());
  const routes = await routesFor(library, () => peerServer(state), testWorld());
  let streams = 0;
  const counted = routes.routes.map((route) => ({
    ...route,
    answer: async (call: AdmittedRequest) => {
      const reply = await route.answer(call);
      if (route.path !== '/mcp/sse') return reply;
      streams += 1;
      call.signal.addEventListener('abort', () => (streams -= 1));
      return reply;
    },
  }));
  harness = await serveRoutes(routedApp({ ...routes, routes: counted }));
  const paths = { http: '/mcp', sse: '/mcp/sse', websocket: '/mcp/ws' };
  const url = harness.url.replace('http', type === 'websocket' ? 'ws' : 'http') + paths[type];
  const { close } = harness;
  return {
    source: mcpSource({ name: 'peer', type, url, headers: { authorization: 'Bearer me' } }),
    ...(type === 'http' ? { stateless: true } : {}),
    open: async () => (type === 'websocket' ? harness.sockets : streams),
    close,
  };
};

const stdioPeer = async (): Promise<Peer> => {
  const folder = mkdtempSync(join(tmpdir(), 'cloister-mcp-'));
  const script = fileURLToPath(new URL('peer-stdio.ts', import.meta.url));
  const args = ['--conditions=cloister-source', script, folder];
  return {
    source: mcpSource({
      name: 'peer',
      type: 'stdio',
      command: process.execPath,
      args,
      env: compileCache(),
      cwd: tmpdir(),
    }),
    open: async () => readdirSync(folder).filter((pid) => isAlive(Number(pid))).length,
    close: async () => rmSync(folder, { recursive: true }),
  };
};

conformToolSource('our stdio', stdioPeer);
conformToolSource('our streamable HTTP', async () => remotePeer('http'));
conformToolSource('our HTTP with server-sent events', async () => remotePeer('sse'));
conformToolSource('our WebSocket', async () => remotePeer('websocket'));
