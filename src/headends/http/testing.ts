// What only tests use of this room.
export { acceptsGzip, openStreamEncoder } from './compress.ts';
export { pulledStream } from './pulled-stream.ts';
export { encodeEvent } from './respond.ts';
export { SocketWriter } from './socket-writer.ts';
