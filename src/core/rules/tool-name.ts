// The names under which models see tools and agents.
import { sha256 } from '#base';

const nameCharsMax = 64;

/** Replaces what providers do not allow in a tool name: only letters, digits, dash and underscore, at most 64 characters. */
export const toToolName = (name: string): string => {
  const plain = name.replace(/[^A-Za-z0-9_-]/gu, '_');
  return plain.length <= nameCharsMax ? plain : `${plain.slice(0, nameCharsMax - 9)}_${sha256(name).slice(0, 8)}`;
};

export const sourceToolName = (source: string, tool: string): string => toToolName(`${source}__${tool}`);
