const BLOCK_SIZE = 128 * 1024;
const BLOCK_HEADER_SIZE = 3;
const LAST_BLOCK = 1;
/**
 * The magic number, a frame header descriptor ("single segment, size in four bytes"), and the size.
 */
const FRAME_HEADER_SIZE = 9;

/** Wraps bytes in a zstd frame without compression (RFC 8878 section 3.1.1). */
export function storedZstdFrame(bytes: Uint8Array): Uint8Array {
  const blocks = Math.max(1, Math.ceil(bytes.length / BLOCK_SIZE));
  const frame = new Uint8Array(FRAME_HEADER_SIZE + blocks * BLOCK_HEADER_SIZE + bytes.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, 0xfd2fb528, true);
  view.setUint8(4, 0b1010_0000);
  view.setUint32(5, bytes.length, true);
  let at = FRAME_HEADER_SIZE;
  for (let block = 0; block < blocks; block++) {
    const content = bytes.subarray(block * BLOCK_SIZE, (block + 1) * BLOCK_SIZE);
    const head = (content.length << 3) | (block === blocks - 1 ? LAST_BLOCK : 0);
    view.setUint16(at, head & 0xffff, true);
    view.setUint8(at + 2, head >> 16);
    frame.set(content, at + BLOCK_HEADER_SIZE);
    at += BLOCK_HEADER_SIZE + content.length;
  }
  return frame;
}
