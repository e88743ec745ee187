// What every transport needs: a factory of server objects, each for one caller.
import type { McpServer, Server } from '@modelcontextprotocol/server';
import type * as library from '@modelcontextprotocol/server';
import type { Caller, Ids } from '#contracts';

/** The MCP library. It loads slowly, so it is imported only when the first server is needed. */
export type McpLibrary = typeof library;

/** Tells whether the client keeps up with reading. */
export type Backpressure = {
  /** Whether a droppable message of so many bytes may be sent now. If so, it counts as sent. */
  tryReserve(bytes: number): boolean;
};

export type ServerFactory = (caller: Caller, flow: Backpressure) => McpServer | Server;

/** 144 random bits. */
export const randomId = (ids: Ids): string => ids.random() + ids.random() + ids.random();

export type McpWorld = { readonly ids: Ids; readonly version: string; isStopping(): boolean };
