// What only tests use of this room.
export { buildOverlay } from './overlay.ts';
export { builtinProviders } from './builtin-providers.ts';
export { parseFrontmatter } from './parse-frontmatter.ts';
export { makeRedact, secretCharsMin } from './redact.ts';
export { estimateBits, strongBitsMin, strongCharsMin } from './secret-strength.ts';
export { splitFile } from './split-file.ts';
