// Which lane each room stands in.
//
//   rooms-nearest. Children stand below their parent, with all below them; who ends first stands nearest, so that no result passes over a
//       sibling. A room may stand in the lane of a sibling that had ended, if none in between would be crossed.
//   rooms-merged. Where lanes would be too low, siblings become one room with a count. Refused, failed and waiting ones never do.
import { countBefore } from './search.ts';
import type { PlannedRoom, RoomsPlan } from './plan.ts';

/** What is drawn as one room: a room, or several merged with all below them. */
export type Unit = {
  readonly index: number;
  /** The first is the one it is named after. */
  readonly rooms: readonly number[];
  readonly lane: number;
};

export type Lanes = { readonly units: readonly Unit[]; readonly unitOf: Int32Array; readonly count: number };

/** `heap`: how many lanes may become one; 1: none do. */
export const packLanes = ({ rooms, ranks }: RoomsPlan, heap: number, isSameAgent: boolean): Lanes => {
  const plain = heap > 1 ? packBlocks(rooms, 2 * ranks, null) : null;
  const packed = packBlocks(rooms, 2 * ranks, plain === null ? null : { ...plain, heap, isSameAgent });
  const units: Unit[] = [];
  const unitOf = new Int32Array(rooms.length).fill(-1);
  const lanes = new Int32Array(rooms.length);
  for (const room of rooms) {
    if (unitOf[room.index]! >= 0) continue;
    const head = packed.headOf[room.index]!;
    const lane = room.parent < 0 ? packed.rootLane(room.index) : lanes[room.parent]! + 1 + packed.offset[head]!;
    lanes[room.index] = lane;
    const members = packed.chunks.get(head)?.flatMap((one) => subtree(rooms, one)) ?? [room.index];
    for (const one of members) unitOf[one] = units.length;
    units.push({ index: units.length, rooms: members, lane });
  }
  return { units, unitOf, count: packed.lanes };
};

const subtree = (rooms: readonly PlannedRoom[], root: number): readonly number[] => {
  const found = [root];
  for (let at = 0; at < found.length; at++) found.push(...rooms[found[at]!]!.children);
  return found;
};

type Block = { readonly room: number; startPos: number; endPos: number; height: number; isPlain: boolean };

type Merging = {
  readonly heap: number;
  readonly isSameAgent: boolean;
  /** Of the lanes without merging. */
  readonly heights: Int32Array;
  readonly offset: Int32Array;
};

/** From the last room up: a child is always started after its parent. */
const packBlocks = (rooms: readonly PlannedRoom[], end: number, merging: Merging | null) => {
  const offset = new Int32Array(rooms.length);
  const heights = new Int32Array(rooms.length).fill(1);
  const headOf = Int32Array.from(rooms, ({ index }) => index);
  const chunks = new Map<number, readonly number[]>();
  const blocks = rooms.map(({ index, startPos, endPos, cell, isPlain }): Block => ({
    room: index,
    startPos,
    endPos: cell.status === null ? end + 1 : endPos,
    height: 1,
    isPlain,
  }));
  for (const { index, children } of rooms.toReversed()) {
    const block = blocks[index]!;
    const own = children.map((child) => blocks[child]!).sort(byNearness);
    for (const child of own) {
      block.startPos = Math.min(block.startPos, child.startPos);
      block.endPos = Math.max(block.endPos, child.endPos);
      block.isPlain &&= child.isPlain;
    }
    const packed = merging === null ? own : mergeBlocks(rooms, own, merging, headOf, chunks);
    block.height = 1 + stackBlocks(packed, offset);
    heights[index] = block.height;
  }
  const roots = rooms.filter(({ parent }) => parent < 0);
  const rootLanes = new Map<number, number>();
  let lanes = 0;
  for (const { index } of roots) {
    rootLanes.set(index, lanes);
    lanes += blocks[index]!.height;
  }
  return { offset, heights, headOf, chunks, lanes, rootLane: (room: number) => rootLanes.get(room)! };
};

/** Those that have not ended come last, with the one that was started last nearest. */
const byNearness = (a: Block, b: Block): number => a.endPos - b.endPos || b.startPos - a.startPos || b.room - a.room;

/** Gives each the lowest lane below everything that is not over when it begins. Returns the height of all. */
const stackBlocks = (blocks: readonly Block[], offset: Int32Array): number => {
  // Ends ascend and bottoms descend: the first that has not ended yet reaches lowest.
  const ends: number[] = [];
  const bottoms: number[] = [];
  let height = 0;
  for (const { room, startPos, endPos, height: own } of blocks) {
    const top = bottoms[countBefore(ends, startPos)] ?? 0;
    const bottom = top + own;
    offset[room] = top;
    while (bottoms.length > 0 && bottoms.at(-1)! <= bottom) {
      bottoms.pop();
      ends.pop();
    }
    bottoms.push(bottom);
    ends.push(endPos);
    height = Math.max(height, bottom);
  }
  return height;
};

/** Neighbours that would take at most `heap` lanes together become one block of one lane. */
const mergeBlocks = (
  rooms: readonly PlannedRoom[],
  blocks: readonly Block[],
  { heap, isSameAgent, heights, offset }: Merging,
  headOf: Int32Array,
  chunks: Map<number, readonly number[]>,
): readonly Block[] => {
  const merged: Block[] = [];
  let chunk: Block[] = [];
  let [top, bottom] = [Infinity, 0];
  const close = (): void => {
    const [first] = chunk;
    if (first !== undefined && bottom - top > 1) {
      const members = chunk.map(({ room }) => room);
      chunks.set(first.room, members);
      for (const one of members) headOf[one] = first.room;
      const all = { ...first, height: 1 };
      for (const { startPos, endPos } of chunk) {
        all.startPos = Math.min(all.startPos, startPos);
        all.endPos = Math.max(all.endPos, endPos);
      }
      merged.push(all);
    } else merged.push(...chunk);
    chunk = [];
    [top, bottom] = [Infinity, 0];
  };
  for (const block of blocks) {
    const own = heights[block.room]!;
    const at = offset[block.room]!;
    const isMergeable = block.isPlain && own <= heap;
    const isOther = isSameAgent && chunk[0] !== undefined && agentOf(rooms, chunk[0]) !== agentOf(rooms, block);
    if (!isMergeable || isOther || Math.max(bottom, at + own) - Math.min(top, at) > heap) close();
    if (!isMergeable) merged.push(block);
    else {
      chunk.push(block);
      [top, bottom] = [Math.min(top, at), Math.max(bottom, at + own)];
    }
  }
  close();
  return merged.sort(byNearness);
};

const agentOf = (rooms: readonly PlannedRoom[], { room }: Block): string => rooms[room]!.cell.agent;
