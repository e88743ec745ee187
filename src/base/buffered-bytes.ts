/** The most bytes that any queue buffers for a slow reader. A single larger item is buffered alone. */
export const bufferedBytesMax = 256 * 1024;
