import { conformToolSource } from '../../conformance/tool-source.ts';
import { sessionsPeer, ssePeer, statelessPeer, stdioPeer, websocketPeer } from './peers.ts';

conformToolSource('stdio', stdioPeer);
conformToolSource('streamable HTTP without sessions', statelessPeer);
conformToolSource('streamable HTTP with sessions', sessionsPeer);
conformToolSource('HTTP with server-sent events', ssePeer);
conformToolSource('WebSocket', websocketPeer);
