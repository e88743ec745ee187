// What every transport takes: a maker of server objects, each for one caller.
import type * as library from '@modelcontextprotocol/server';
import type { McpServer, Server } from '@modelcontextprotocol/server';
import type { Caller, Ids } from '#contracts';

/** The library, loaded when the first server is wanted: that takes a while. */
export type Library = typeof library;

/** How well the client reads. */
export type Flow = {
  /** Whether one more message that can be left out may be sent now, of so many bytes; if so, it counts as sent. */
  take(bytes: number): boolean;
};

export type ServerFor = (caller: Caller, flow: Flow) => McpServer | Server;

export type McpWorld = { readonly ids: Ids; readonly version: string; isStopping(): boolean };
